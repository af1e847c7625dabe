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
      cause: 'Nessun file ha questo nome, o chi chiama non può leggerlo.',
      remedy: 'Controllare il nome.'
    },
    FILE_ILLEGGIBILE: {
      statuses: [500],
      cause: 'Il file è danneggiato, o manca dal disco.',
      remedy: 'Avvisare chi gestisce il server: deve recuperare il file da un salvataggio.'
    },
    OGGETTO_ESISTENTE: {
      statuses: [409],
      cause: 'Un file ha già questo nome.',
      remedy: 'Usare un altro nome, o chiedere di sostituirlo.'
    },
    CONTENUTO_TROPPO_GRANDE: {
      statuses: [413],
      cause: 'Il file supera il limite.',
      remedy: 'Inviare un file più piccolo.'
    },
    IMMAGINE_TROPPO_GRANDE: {
      statuses: [413],
      cause: 'L’immagine ha più pixel di quelli ammessi.',
      remedy: 'Ridurre l’immagine.'
    },
    INTERVALLO_NON_VALIDO: {
      statuses: [416],
      cause: '`Range` comincia oltre la fine del file.',
      remedy: 'Chiedere un intervallo entro la lunghezza indicata in `Content-Range`.'
    },
    LAVORO_NON_RIUSCITO: {
      statuses: [503],
      cause: 'L’operazione richiede più memoria di quella ammessa.',
      remedy: 'Inviare un’immagine più piccola o meno righe. Ripetere la stessa richiesta non serve.'
    },
    LAVORO_TROPPO_LUNGO: {
      statuses: [503],
      cause: 'L’operazione richiede più tempo di quello ammesso.',
      remedy: 'Inviare un’immagine più piccola o meno righe.'
    }
  }
} satisfies ErrorSubject
