import type { MailTexts } from './mail-wording.ts'

const OTHERWISE =
  'Se non è opera tua, cambia subito la password, chiudi le altre sessioni e avvisa un amministratore.'

export const it: MailTexts = {
  account: 'Account',
  enterCode: 'Inserisci questo codice:',
  codeEnds: 'Il codice vale 24 ore e una volta sola.',
  orCode: 'Oppure inserisci questo codice:',
  linkEnds: 'Il collegamento e il codice valgono 24 ore e una volta sola.',
  mails: {
    signup: {
      subject: 'Conferma la registrazione a Locanda',
      why: 'Con questo indirizzo è stata chiesta la registrazione a Locanda.',
      link: 'Per confermare la registrazione apri questo collegamento nel browser in cui l’hai chiesta ' +
        '(in un altro la password andrà scelta di nuovo):',
      otherwise:
        'Se non hai chiesto tu la registrazione, ignora questo messaggio: senza conferma l’account non si attiva.'
    },
    recovery: {
      subject: 'Reimposta la password di Locanda',
      why: 'È stato chiesto di reimpostare la password del tuo account di Locanda.',
      link: 'Per scegliere una nuova password apri questo collegamento:',
      otherwise: 'Se non hai chiesto tu di reimpostarla, ignora questo messaggio: la password resta quella di prima.'
    },
    magiclink: {
      subject: 'Il collegamento per accedere a Locanda',
      why: 'È stato chiesto di accedere a Locanda con questo indirizzo.',
      link: 'Per accedere apri questo collegamento:',
      otherwise: 'Se non hai chiesto tu di accedere, ignora questo messaggio e non dare il codice a nessuno.'
    },
    invite: {
      subject: 'Invito a Locanda',
      why: 'Hai ricevuto un invito a usare Locanda.',
      link: 'Per accettare l’invito apri questo collegamento:',
      otherwise:
        'Se non hai chiesto tu di entrare e non conosci chi ti invita, ignora questo messaggio: ' +
        'senza conferma l’account non si attiva.'
    },
    email_change: {
      subject: 'Conferma il nuovo indirizzo e-mail',
      why: 'È stato chiesto di cambiare l’indirizzo e-mail di un account di Locanda.',
      email: 'Nuovo indirizzo',
      link: 'Per confermare il cambio apri questo collegamento:',
      otherwise:
        'Se non hai chiesto tu il cambio, ignora questo messaggio: senza conferma l’indirizzo resta quello di prima.'
    },
    reauthentication: {
      subject: 'Il codice di verifica di Locanda',
      why: 'Per confermare un’operazione sul tuo account di Locanda serve un codice di verifica.',
      otherwise: 'Se non hai chiesto tu il codice, non darlo a nessuno e cambia la password.'
    }
  },
  notices: {
    factor_added: [
      'Nuovo secondo fattore', 'Al tuo account di Locanda è stato aggiunto un secondo fattore.', OTHERWISE
    ],
    factor_removed: [
      'Secondo fattore rimosso', 'Dal tuo account di Locanda è stato rimosso un secondo fattore.', OTHERWISE
    ],
    recovery_codes: [
      'Nuovi codici di recupero',
      'Per il tuo account di Locanda sono stati creati nuovi codici di recupero: se ne avevi altri, non valgono più.',
      OTHERWISE
    ],
    passkey_added: ['Nuova passkey', 'Al tuo account di Locanda è stata aggiunta una passkey.', OTHERWISE],
    passkey_removed: ['Passkey rimossa', 'Dal tuo account di Locanda è stata rimossa una passkey.', OTHERWISE],
    access_reset: [
      'Account reimpostato',
      'Un amministratore ha tolto dal tuo account di Locanda i secondi fattori e le passkey.',
      'Se non te l’aspettavi, avvisa un amministratore.'
    ],
    codes_tried: [
      'Codici sbagliati per il tuo account',
      'Qualcuno che conosce la tua password di Locanda ha provato più volte il secondo fattore con codici sbagliati.',
      'Se non sei stato tu, cambia la password: il secondo fattore ha impedito l’accesso. ' +
        'Se il codice dell’app non viene più accettato, accedi con un codice di recupero.'
    ]
  }
}
