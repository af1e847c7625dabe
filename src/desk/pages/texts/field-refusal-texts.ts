import type { Language } from '#src/identity/index.ts'

type Translated = Readonly<Record<Exclude<Language, 'it'>, string>>

/**
 * Messages of the API about a field that a person at the desk meets. The API itself writes Italian. `{n}` stands for
 * the group of the pattern: a limit, or the label of another field.
 */
export const fieldRefusalTexts: readonly (readonly [pattern: RegExp, texts: Translated])[] = [
  [/^(?:è un campo obbligatorio|deve avere un valore)\b/, {
    en: 'must have a value', de: 'muss einen Wert haben', fr: 'doit avoir une valeur'
  }],
  [/^deve essere un numero intero$/, {
    en: 'must be a whole number', de: 'muss eine ganze Zahl sein', fr: 'doit être un nombre entier'
  }],
  [/^deve essere almeno (\d+)$/, {
    en: 'must be at least {n}', de: 'muss mindestens {n} sein', fr: 'doit être au moins {n}'
  }],
  [/^deve essere al massimo (\d+)$/, {
    en: 'must be at most {n}', de: 'darf höchstens {n} sein', fr: 'doit être au plus {n}'
  }],
  [/^deve avere almeno (\d+) caratteri/, {
    en: 'must have at least {n} characters',
    de: 'muss mindestens {n} Zeichen haben',
    fr: 'doit avoir au moins {n} caractères'
  }],
  [/^deve avere al massimo (\d+) caratteri$/, {
    en: 'must have at most {n} characters',
    de: 'darf höchstens {n} Zeichen haben',
    fr: 'doit avoir au plus {n} caractères'
  }],
  [/^deve essere un indirizzo e-mail, per esempio (\S+)$/, {
    en: 'must be an e-mail address, for example {n}',
    de: 'muss eine E-Mail-Adresse sein, zum Beispiel {n}',
    fr: 'doit être une adresse e-mail, par exemple {n}'
  }],
  [/^deve essere un indirizzo, per esempio (\S+)$/, {
    en: 'must be an address, for example {n}',
    de: 'muss eine Adresse sein, zum Beispiel {n}',
    fr: 'doit être une adresse, par exemple {n}'
  }],
  [/^non è un indirizzo completo$/, {
    en: 'is not a complete address', de: 'ist keine vollständige Adresse', fr: 'n’est pas une adresse complète'
  }],
  [/^deve essere un giorno\b.* (\d{4}-\d\d-\d\d)/, {
    en: 'must be a day, for example {n}',
    de: 'muss ein Tag sein, zum Beispiel {n}',
    fr: 'doit être un jour, par exemple {n}'
  }],
  [/^deve essere dopo («.*?»)/, {
    en: 'must be after {n}', de: 'muss nach {n} liegen', fr: 'doit être après {n}'
  }],
  [/^deve essere prima di («.*?»)/, {
    en: 'must be before {n}', de: 'muss vor {n} liegen', fr: 'doit être avant {n}'
  }],
  [/^non può essere prima di («.*?»)/, {
    en: 'cannot be before {n}', de: 'darf nicht vor {n} liegen', fr: 'ne peut pas être avant {n}'
  }],
  [/^porta il soggiorno oltre (\d+) notti$/, {
    en: 'makes the stay longer than {n} nights',
    de: 'macht den Aufenthalt länger als {n} Nächte',
    fr: 'porte le séjour à plus de {n} nuits'
  }],
  [/^deve essere .*, fra le notti della prenotazione$/, {
    en: 'must be one of the nights of the booking',
    de: 'muss eine der Nächte der Buchung sein',
    fr: 'doit être une des nuits de la réservation'
  }],
  [/^deve essere dopo l’arrivo e al più tardi .*, la partenza della prenotazione$/, {
    en: 'must be after the arrival, and not after the departure of the booking',
    de: 'muss nach der Ankunft liegen, und nicht nach der Abreise der Buchung',
    fr: 'doit être après l’arrivée, et pas après le départ de la réservation'
  }],
  [/^lascia fuori i giorni dell’ospite (\d+) /, {
    en: 'leaves out the days of guest {n}: first save the guests without those days, or with other ones',
    de: 'lässt die Tage von Gast {n} außen vor: zuerst die Gäste ohne diese Tage oder mit anderen speichern',
    fr: 'laisse de côté les jours du client {n} : enregistrez d’abord les clients sans ces jours, ou avec d’autres'
  }],
  [/^è in uso soltanto /, {
    en: 'is not in use on all these days',
    de: 'ist nicht an allen diesen Tagen in Betrieb',
    fr: 'n’est pas en service tous ces jours-là'
  }],
  [/^è già il nome di un’altra unità$/, {
    en: 'is already the name of another unit',
    de: 'ist schon der Name einer anderen Einheit',
    fr: 'est déjà le nom d’une autre unité'
  }],
  [/^non è un’immagine /, {
    en: 'is no picture. Use a JPEG, PNG, WebP, HEIC, AVIF or TIFF, or a PDF of one page with one picture',
    de: 'ist kein Bild. Möglich sind JPEG, PNG, WebP, HEIC, AVIF, TIFF oder ein PDF mit einer Seite und einem Bild',
    fr: 'n’est pas une image. Utilisez JPEG, PNG, WebP, HEIC, AVIF, TIFF, ou un PDF d’une page avec une seule image'
  }],
  [/^è un’immagine danneggiata o incompleta$/, {
    en: 'is damaged or incomplete', de: 'ist beschädigt oder unvollständig', fr: 'est endommagée ou incomplète'
  }],
  [/^è un’immagine troppo complessa$/, {
    en: 'is too complex', de: 'ist zu komplex', fr: 'est trop complexe'
  }],
  [/^è un’animazione/, {
    en: 'is an animation, or has several pictures: use a single picture',
    de: 'ist eine Animation oder hat mehrere Bilder: nur ein einzelnes Bild verwenden',
    fr: 'est une animation, ou a plusieurs images : utilisez une seule image'
  }],
  [/^è un PDF: serve una pagina sola, con una sola immagine di al massimo (\d+) megapixel$/, {
    en: 'is a PDF: it needs a single page, with a single picture of at most {n} megapixels',
    de: 'ist ein PDF: nötig ist eine einzige Seite mit einem einzigen Bild von höchstens {n} Megapixeln',
    fr: 'est un PDF : il faut une seule page, avec une seule image de {n} mégapixels au plus'
  }]
]
