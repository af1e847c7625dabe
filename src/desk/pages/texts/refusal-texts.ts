import type { Language } from '#src/identity/index.ts'

/** Refusals of the API that a person at the desk meets, by code. The API itself writes Italian. */
export const refusalTexts: Readonly<Record<string, Readonly<Record<Exclude<Language, 'it'>, string>>>> = {
  UNITA_OCCUPATA: {
    en: 'The unit is taken on these days, by another booking or a block. Choose other days or another unit.',
    de: 'Die Einheit ist an diesen Tagen durch eine andere Buchung oder eine Sperre belegt. Andere Tage ' +
      'oder eine andere Einheit wählen.',
    fr: 'L’unité est occupée ces jours-là, par une autre réservation ou un blocage. Choisissez d’autres ' +
      'jours ou une autre unité.'
  },
  NESSUNA_UNITA_LIBERA: {
    en: 'No unit that is large enough is free on these days.',
    de: 'An diesen Tagen ist keine Einheit frei, die groß genug ist.',
    fr: 'Aucune unité assez grande n’est libre ces jours-là.'
  },
  UNITA_IN_USO: {
    en: 'The unit has bookings, so it cannot be deleted or closed on their days.',
    de: 'Die Einheit hat Buchungen: Sie kann an deren Tagen weder gelöscht noch geschlossen werden.',
    fr: 'L’unité a des réservations : elle ne peut être ni supprimée ni fermée pendant leurs jours.'
  },
  PRENOTAZIONE_MODIFICATA: {
    en: 'Someone has changed the booking in the meantime. Open it again before you continue.',
    de: 'Die Buchung wurde inzwischen geändert. Vor dem Weitermachen noch einmal öffnen.',
    fr: 'La réservation a changé entre-temps. Ouvrez-la de nouveau avant de continuer.'
  },
  PRENOTAZIONE_CAMBIATA: {
    en: 'The booking changed during the request, so nothing was sent. Check it and send again.',
    de: 'Die Buchung hat sich währenddessen geändert, deshalb wurde nichts gesendet. Prüfen und noch einmal senden.',
    fr: 'La réservation a changé pendant la demande : rien n’a été envoyé. Vérifiez-la et envoyez de nouveau.'
  },
  PRENOTAZIONE_NON_CONFERMATA: {
    en: 'The booking is cancelled or the guests did not show up, so nothing was sent.',
    de: 'Die Buchung ist storniert, oder die Gäste sind nicht erschienen: Es wurde nichts gesendet.',
    fr: 'La réservation est annulée, ou les clients ne se sont pas présentés : rien n’a été envoyé.'
  },
  VALIDAZIONE: {
    en: 'The data of some guests is incomplete or wrong, so no guest was sent. Correct it and send again.',
    de: 'Daten von Gästen fehlen oder sind falsch, deshalb wurde kein Gast gesendet. Korrigieren und ' +
      'noch einmal senden.',
    fr: 'Les données de certains clients manquent ou sont fausses : aucun n’a été envoyé. Corrigez et ' +
      'envoyez de nouveau.'
  },
  SCHEDINE_GIA_INVIATE: {
    en: 'Guests of this booking were already sent for the same arrival.',
    de: 'Gäste dieser Buchung wurden für dieselbe Ankunft schon gesendet.',
    fr: 'Des clients de cette réservation ont déjà été envoyés pour la même arrivée.'
  },
  OSPITI_CAMBIATI: {
    en: 'The booking has other guests than those already sent.',
    de: 'Die Buchung hat andere Gäste als die schon gesendeten.',
    fr: 'La réservation a d’autres clients que ceux déjà envoyés.'
  },
  OSPITI_OLTRE_LA_PRENOTAZIONE: {
    en: 'With these guests, more would be sent than the booking has.',
    de: 'Damit würden mehr Gäste gesendet, als die Buchung hat.',
    fr: 'Avec ces clients, il y aurait plus d’envois que la réservation n’a de clients.'
  },
  NULLA_DA_INVIARE: {
    en: 'All saved guests were already sent.',
    de: 'Alle gespeicherten Gäste wurden schon gesendet.',
    fr: 'Tous les clients enregistrés ont déjà été envoyés.'
  },
  INVIO_IN_CORSO: {
    en: 'A submission of these guests is still in progress. Do not repeat it: its outcome will appear here.',
    de: 'Eine Sendung dieser Gäste läuft noch. Nicht wiederholen: Das Ergebnis erscheint hier.',
    fr: 'Un envoi de ces clients est encore en cours. Ne le répétez pas : son résultat apparaîtra ici.'
  },
  ESITO_SCONOSCIUTO: {
    en: 'The answer of the police did not arrive: the guests may have been acquired. Do not send them again.',
    de: 'Die Antwort der Polizei kam nicht an: Die Gäste sind vielleicht übernommen. Nicht noch einmal senden.',
    fr: 'La réponse de la police n’est pas arrivée : les clients sont peut-être enregistrés. Ne les renvoyez pas.'
  },
  SCHEDINE_RIFIUTATE: {
    en: 'The police refused some guests. The others may have been acquired.',
    de: 'Die Polizei hat einige Gäste abgelehnt. Die anderen sind vielleicht übernommen.',
    fr: 'La police a refusé certains clients. Les autres sont peut-être enregistrés.'
  },
  SERVIZIO_NON_RAGGIUNGIBILE: {
    en: 'The police service does not respond, and nothing was sent. Try again later.',
    de: 'Der Dienst der Polizei antwortet nicht, es wurde nichts gesendet. Später noch einmal versuchen.',
    fr: 'Le service de la police ne répond pas, et rien n’a été envoyé. Réessayez plus tard.'
  },
  INVII_SOSPESI: {
    en: 'Sending is suspended, so nothing was sent. An administrator must resume it.',
    de: 'Das Senden ist angehalten, es wurde nichts gesendet. Ein Administrator muss es fortsetzen.',
    fr: 'Les envois sont suspendus : rien n’a été envoyé. Un administrateur doit les reprendre.'
  },
  CREDENZIALI_MANCANTI: {
    en: 'The user name, password or key of the police account is missing.',
    de: 'Benutzername, Passwort oder Schlüssel des Polizeikontos fehlen.',
    fr: 'L’identifiant, le mot de passe ou la clé du compte de la police manque.'
  },
  CREDENZIALI_RIFIUTATE: {
    en: 'The police refused the user name, the password or the key of the account. Check them in Settings.',
    de: 'Die Polizei hat Benutzername, Passwort oder Schlüssel abgelehnt. In den Einstellungen prüfen.',
    fr: 'La police a refusé l’identifiant, le mot de passe ou la clé du compte. Vérifiez-les dans les réglages.'
  },
  DOCUMENTO_NON_LETTO: {
    en: 'No document can be read in the picture. Take another photo, or type the guest’s data.',
    de: 'Auf dem Bild ist kein Ausweis lesbar. Noch ein Foto machen oder die Daten des Gastes eintippen.',
    fr: 'Aucun document n’est lisible sur l’image. Reprenez la photo, ou saisissez les données du client.'
  },
  CONTENUTO_TROPPO_GRANDE: {
    en: 'The file is too large.',
    de: 'Die Datei ist zu groß.',
    fr: 'Le fichier est trop grand.'
  },
  IMMAGINE_TROPPO_GRANDE: {
    en: 'The picture has too many pixels.',
    de: 'Das Bild hat zu viele Pixel.',
    fr: 'L’image a trop de pixels.'
  },
  SERVIZIO_OCCUPATO: {
    en: 'The server is busy. Try again shortly.',
    de: 'Der Server ist ausgelastet. Gleich noch einmal versuchen.',
    fr: 'Le serveur est occupé. Réessayez bientôt.'
  },
  TROPPE_RICHIESTE: {
    en: 'Too many attempts in a short time. Try again later.',
    de: 'Zu viele Versuche in kurzer Zeit. Später noch einmal versuchen.',
    fr: 'Trop de tentatives en peu de temps. Réessayez plus tard.'
  }
}
