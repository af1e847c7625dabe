import type { MailTexts } from './mail-wording.ts'

const OTHERWISE =
  'Wenn Sie das nicht waren, ändern Sie sofort Ihr Passwort, beenden Sie die anderen Sitzungen und ' +
  'benachrichtigen Sie einen Administrator.'

export const de: MailTexts = {
  account: 'Konto',
  enterCode: 'Geben Sie diesen Code ein:',
  codeEnds: 'Der Code gilt 24 Stunden und einmal.',
  orCode: 'Oder geben Sie diesen Code ein:',
  linkEnds: 'Der Link und der Code gelten 24 Stunden und einmal.',
  mails: {
    signup: {
      subject: 'Bestätigen Sie die Registrierung bei Locanda',
      why: 'Mit dieser Adresse wurde eine Registrierung bei Locanda angefragt.',
      link: 'Um die Registrierung zu bestätigen, öffnen Sie diesen Link in dem Browser, in dem Sie sie angefragt ' +
        'haben (in einem anderen wählen Sie das Passwort noch einmal):',
      otherwise: 'Wenn Sie die Registrierung nicht angefragt haben, beachten Sie diese Nachricht nicht: Ohne ' +
        'Bestätigung wird das Konto nicht aktiv.'
    },
    recovery: {
      subject: 'Passwort für Locanda zurücksetzen',
      why: 'Es wurde angefragt, das Passwort Ihres Kontos bei Locanda zurückzusetzen.',
      link: 'Um ein neues Passwort zu wählen, öffnen Sie diesen Link:',
      otherwise:
        'Wenn Sie das nicht angefragt haben, beachten Sie diese Nachricht nicht: Das Passwort bleibt, wie es war.'
    },
    magiclink: {
      subject: 'Ihr Link zur Anmeldung bei Locanda',
      why: 'Es wurde angefragt, sich mit dieser Adresse bei Locanda anzumelden.',
      link: 'Um sich anzumelden, öffnen Sie diesen Link:',
      otherwise:
        'Wenn Sie das nicht angefragt haben, beachten Sie diese Nachricht nicht und geben Sie den Code niemandem.'
    },
    invite: {
      subject: 'Einladung zu Locanda',
      why: 'Sie sind eingeladen, Locanda zu benutzen.',
      link: 'Um die Einladung anzunehmen, öffnen Sie diesen Link:',
      otherwise: 'Wenn Sie nicht darum gebeten haben und nicht wissen, wer Sie einlädt, beachten Sie diese Nachricht ' +
        'nicht: Ohne Bestätigung wird das Konto nicht aktiv.'
    },
    email_change: {
      subject: 'Bestätigen Sie die neue E-Mail-Adresse',
      why: 'Es wurde angefragt, die E-Mail-Adresse eines Kontos bei Locanda zu ändern.',
      email: 'Neue Adresse',
      link: 'Um die Änderung zu bestätigen, öffnen Sie diesen Link:',
      otherwise: 'Wenn Sie die Änderung nicht angefragt haben, beachten Sie diese Nachricht nicht: Ohne Bestätigung ' +
        'bleibt die Adresse, wie sie war.'
    },
    reauthentication: {
      subject: 'Ihr Prüfcode für Locanda',
      why: 'Um einen Vorgang in Ihrem Konto bei Locanda zu bestätigen, brauchen Sie einen Prüfcode.',
      otherwise: 'Wenn Sie den Code nicht angefragt haben, geben Sie ihn niemandem und ändern Sie Ihr Passwort.'
    }
  },
  notices: {
    factor_added: [
      'Neuer zweiter Faktor',
      'Ihrem Konto bei Locanda wurde ein zweiter Faktor hinzugefügt.',
      OTHERWISE
    ],
    factor_removed: [
      'Zweiter Faktor entfernt',
      'Aus Ihrem Konto bei Locanda wurde ein zweiter Faktor entfernt.',
      OTHERWISE
    ],
    recovery_codes: [
      'Neue Wiederherstellungscodes',
      'Für Ihr Konto bei Locanda wurden neue Wiederherstellungscodes erstellt: Frühere gelten nicht mehr.',
      OTHERWISE
    ],
    passkey_added: ['Neuer Passkey', 'Ihrem Konto bei Locanda wurde ein Passkey hinzugefügt.', OTHERWISE],
    passkey_removed: ['Passkey entfernt', 'Aus Ihrem Konto bei Locanda wurde ein Passkey entfernt.', OTHERWISE],
    access_reset: [
      'Konto zurückgesetzt',
      'Ein Administrator hat die zweiten Faktoren und die Passkeys aus Ihrem Konto bei Locanda entfernt.',
      'Wenn Sie das nicht erwartet haben, benachrichtigen Sie einen Administrator.'
    ],
    codes_tried: [
      'Falsche Codes für Ihr Konto',
      'Jemand, der Ihr Passwort für Locanda kennt, hat den zweiten Faktor mehrmals mit falschen Codes versucht.',
      'Wenn Sie es nicht waren, ändern Sie Ihr Passwort: Der zweite Faktor hat die Anmeldung ' +
        'verhindert. Wenn der Code der App nicht mehr angenommen wird, ' +
        'melden Sie sich mit einem Wiederherstellungscode an.'
    ]
  }
}
