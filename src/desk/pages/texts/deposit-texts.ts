import { translations } from './translations.ts'

/** The texts of the page with the file for certified mail. */
export const depositTexts = translations({
  it: {
    title: 'File per la PEC: {n}',
    back: 'Torna a Polizia',
    why: 'Arrivo del {n}: il servizio della Polizia accetta solo gli arrivi di oggi e di ieri. Gli altri si ' +
      'comunicano alla Questura per PEC.',
    missing: 'Prima completare questi dati:',
    guest: 'Ospite {n}',
    complete: 'Completa gli ospiti',
    download: 'Scarica il file',
    downloadText: 'Contiene gli ospiti nel formato della Polizia. Scaricarlo non comunica nulla.',
    file: 'Scarica il file',
    mail: 'Manda la PEC',
    mailText: 'Allegare il file a una PEC per la Questura della provincia, e tenere la ricevuta di consegna.',
    note: 'Annota il protocollo',
    protocollo: 'Protocollo',
    protocolloHint: 'Il numero della PEC o della Questura',
    motivo: 'Motivo',
    motivoHint: 'Almeno 10 caratteri, per esempio: arrivo inserito in ritardo',
    save: 'Annota come comunicata'
  },
  en: {
    title: 'File for PEC: {n}',
    back: 'Back to Police',
    why: 'Arrival of {n}: the police service accepts only arrivals of today and yesterday. Others are reported to ' +
      'the Questura by certified mail (PEC).',
    missing: 'First complete this data:',
    guest: 'Guest {n}',
    complete: 'Complete the guests',
    download: 'Download the file',
    downloadText: 'It has the guests in the format of the police. The download registers nobody.',
    file: 'Download the file',
    mail: 'Send the PEC',
    mailText: 'Attach the file to a PEC to the Questura of the province, and keep the delivery receipt.',
    note: 'Note the protocol number',
    protocollo: 'Protocol number',
    protocolloHint: 'The number of the PEC or of the Questura',
    motivo: 'Reason',
    motivoHint: 'At least 10 characters, for example: arrival entered late',
    save: 'Note as registered'
  },
  de: {
    title: 'Datei für PEC: {n}',
    back: 'Zurück zur Seite „Polizei“',
    why: 'Anreise am {n}: Der Dienst der Polizei nimmt nur Anreisen von heute und gestern an. Andere gehen per PEC ' +
      'an die Questura.',
    missing: 'Zuerst diese Angaben ergänzen:',
    guest: 'Gast {n}',
    complete: 'Gäste ergänzen',
    download: 'Datei herunterladen',
    downloadText: 'Sie enthält die Gäste im Format der Polizei. Das Herunterladen meldet niemanden.',
    file: 'Datei herunterladen',
    mail: 'PEC senden',
    mailText: 'Die Datei an eine PEC an die Questura der Provinz anhängen und die Zustellquittung aufbewahren.',
    note: 'Protokollnummer notieren',
    protocollo: 'Protokollnummer',
    protocolloHint: 'Die Nummer der PEC oder der Questura',
    motivo: 'Grund',
    motivoHint: 'Mindestens 10 Zeichen, zum Beispiel: Anreise zu spät eingetragen',
    save: 'Als gemeldet notieren'
  },
  fr: {
    title: 'Fichier pour la PEC : {n}',
    back: 'Retour à la page « Police »',
    why: 'Arrivée du {n} : le service de la police n’accepte que les arrivées d’aujourd’hui et d’hier. Les autres ' +
      'se déclarent à la Questura par PEC.',
    missing: 'Complétez d’abord ces données :',
    guest: 'Client {n}',
    complete: 'Compléter les clients',
    download: 'Télécharger le fichier',
    downloadText: 'Il contient les clients au format de la police. Le télécharger ne déclare personne.',
    file: 'Télécharger le fichier',
    mail: 'Envoyer la PEC',
    mailText: 'Joignez le fichier à une PEC pour la Questura de la province, et gardez le reçu de remise.',
    note: 'Noter le protocole',
    protocollo: 'Numéro de protocole',
    protocolloHint: 'Le numéro de la PEC ou de la Questura',
    motivo: 'Motif',
    motivoHint: 'Au moins 10 caractères, par exemple : arrivée saisie en retard',
    save: 'Noter comme déclarée'
  }
})
