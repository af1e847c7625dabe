import type { ErrorSubject } from './entry.ts'

export const FILES = {
  title: 'File e lavori pesanti',
  errors: {
    ARCHIVIO_NON_DISPONIBILE: {
      statuses: [503],
      cause: 'L’archivio dei file non risponde.',
      remedy: 'Riprovare dopo i secondi di `Retry-After`.'
    },
    BUCKET_NON_TROVATO: { statuses: [404], cause: 'Nessun bucket ha questo nome.', remedy: 'Controllare il nome.' },
    FILE_NON_TROVATO: {
      statuses: [404],
      cause: 'A questo nome non c’è un file, o non è di chi chiama.',
      remedy: 'Controllare il nome.'
    },
    FILE_ILLEGGIBILE: {
      statuses: [500],
      cause: 'Il file è danneggiato, o manca dal disco.',
      remedy: 'Avvisare chi gestisce il server: va ripreso da una copia.'
    },
    OGGETTO_ESISTENTE: {
      statuses: [409],
      cause: 'Un file ha già questo nome.',
      remedy: 'Usare un altro nome, o chiedere di sostituirlo.'
    },
    CONTENUTO_TROPPO_GRANDE: {
      statuses: [413],
      cause: 'Il file supera il limite.',
      remedy: 'Mandare un file più piccolo.'
    },
    INTERVALLO_NON_VALIDO: {
      statuses: [416],
      cause: '`Range` comincia oltre la fine del file.',
      remedy: 'Chiedere un intervallo entro la lunghezza che `Content-Range` dice.'
    },
    LAVORO_NON_RIUSCITO: {
      statuses: [503],
      cause: 'Il lavoro vuole più memoria di quella ammessa.',
      remedy: 'Mandare un’immagine più piccola o meno righe: ripetere uguale non serve.'
    },
    LAVORO_TROPPO_LUNGO: {
      statuses: [503],
      cause: 'Il lavoro vuole più tempo di quello ammesso.',
      remedy: 'Mandare un’immagine più piccola o meno righe.'
    }
  }
} satisfies ErrorSubject
