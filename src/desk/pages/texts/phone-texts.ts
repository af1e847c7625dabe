import { translations } from './translations.ts'

/** The texts of the hand-over to a phone, at the desk and on the phone. */
export const phoneTexts = translations({
  it: {
    howTo: 'Inquadrare il codice con la fotocamera del telefono e fotografare il documento. Non serve accedere.',
    code: 'Codice QR per il telefono',
    until: 'Il codice vale fino alle {n}, per una sola foto di questo ospite.',
    address: 'Il telefono deve poter raggiungere {n}.',
    onlyHere: 'L’indirizzo {n} vale solo su questo computer, e un telefono non lo apre. Chi gestisce il server ' +
      'imposta HOST e PUBLIC_URL con un indirizzo della rete.',
    refresh: 'Aggiorna',
    notYet: 'La foto non è ancora arrivata.',
    newCode: 'Nuovo codice',
    expired: 'Il codice è scaduto, e la foto non è arrivata.',
    arrived: 'La foto è arrivata.',
    otherName: 'Il nome sul documento non è quello che era salvato: controllare chi è questo ospite.',
    check: 'Controlla i dati',
    another: 'Un’altra foto',
    saved: 'Foto salvata',
    savedText: 'Si può chiudere questa pagina. Il lavoro continua al computer.',
    ended: 'Il codice non vale più',
    endedText: 'Ogni codice vale cinque minuti e per una sola foto. Chiedere un nuovo codice al computer.',
    gone: 'L’ospite è cambiato',
    goneText: 'Il codice era per un ospite che nella prenotazione non c’è più, o che è cambiato. Nessuna foto è ' +
      'stata salvata. Chiedere un nuovo codice al computer.'
  },
  en: {
    howTo: 'Point the phone’s camera at the code and take a photo of the document. No sign-in is needed.',
    code: 'QR code for the phone',
    until: 'The code is valid until {n}, for one photo of this guest.',
    address: 'The phone must be able to reach {n}.',
    onlyHere: 'The address {n} works only on this computer, and no phone opens it. The operator of the server ' +
      'sets HOST and PUBLIC_URL to an address of the network.',
    refresh: 'Refresh',
    notYet: 'The photo has not arrived yet.',
    newCode: 'New code',
    expired: 'The code has expired, and no photo has arrived.',
    arrived: 'The photo has arrived.',
    otherName: 'The name on the document is not the one that was saved: check who this guest is.',
    check: 'Check the data',
    another: 'Another photo',
    saved: 'Photo saved',
    savedText: 'You can close this page. The work continues at the computer.',
    ended: 'The code is no longer valid',
    endedText: 'A code is valid for five minutes and for one photo. Ask for a new code at the computer.',
    gone: 'The guest has changed',
    goneText: 'The code was for a guest who is no longer in the booking, or has changed. No photo was saved. ' +
      'Ask for a new code at the computer.'
  },
  de: {
    howTo: 'Den Code mit der Kamera des Handys erfassen und den Ausweis fotografieren. Eine Anmeldung ist nicht nötig.',
    code: 'QR-Code für das Handy',
    until: 'Der Code gilt bis {n} Uhr, für ein Foto dieses Gastes.',
    address: 'Das Handy muss {n} erreichen können.',
    onlyHere: 'Die Adresse {n} gilt nur auf diesem Computer, ein Handy öffnet sie nicht. Der Betreiber des ' +
      'Servers setzt HOST und PUBLIC_URL auf eine Adresse im Netzwerk.',
    refresh: 'Aktualisieren',
    notYet: 'Das Foto ist noch nicht angekommen.',
    newCode: 'Neuer Code',
    expired: 'Der Code ist abgelaufen, und das Foto ist nicht angekommen.',
    arrived: 'Das Foto ist angekommen.',
    otherName: 'Der Name auf dem Ausweis ist nicht der gespeicherte: bitte prüfen, wer dieser Gast ist.',
    check: 'Daten prüfen',
    another: 'Noch ein Foto',
    saved: 'Foto gespeichert',
    savedText: 'Diese Seite kann geschlossen werden. Am Computer geht es weiter.',
    ended: 'Der Code gilt nicht mehr',
    endedText: 'Ein Code gilt fünf Minuten und für ein Foto. Bitte am Computer einen neuen Code anfordern.',
    gone: 'Der Gast hat sich geändert',
    goneText: 'Der Code war für einen Gast, der nicht mehr in der Buchung ist oder geändert wurde. Es ' +
      'wurde kein Foto gespeichert. Bitte am Computer einen neuen Code anfordern.'
  },
  fr: {
    howTo: 'Visez le code avec l’appareil photo du téléphone et photographiez le document. Aucun compte requis.',
    code: 'Code QR pour le téléphone',
    until: 'Le code est valable jusqu’à {n}, pour une seule photo de ce client.',
    address: 'Le téléphone doit pouvoir joindre {n}.',
    onlyHere: 'L’adresse {n} ne marche que sur cet ordinateur, un téléphone ne l’ouvre pas. L’exploitant du ' +
      'serveur donne à HOST et à PUBLIC_URL une adresse du réseau.',
    refresh: 'Actualiser',
    notYet: 'La photo n’est pas encore arrivée.',
    newCode: 'Nouveau code',
    expired: 'Le code a expiré, et la photo n’est pas arrivée.',
    arrived: 'La photo est arrivée.',
    otherName: 'Le nom sur le document n’est pas celui qui était enregistré : vérifier qui est ce client.',
    check: 'Vérifier les données',
    another: 'Une autre photo',
    saved: 'Photo enregistrée',
    savedText: 'Vous pouvez fermer cette page. La suite se fait à l’ordinateur.',
    ended: 'Le code n’est plus valable',
    endedText: 'Un code vaut cinq minutes et une seule photo. Demandez un nouveau code à l’ordinateur.',
    gone: 'Le client a changé',
    goneText: 'Le code était pour un client qui n’est plus dans la réservation, ou qui a changé. Aucune ' +
      'photo n’a été enregistrée. Demandez un nouveau code à l’ordinateur.'
  }
})
