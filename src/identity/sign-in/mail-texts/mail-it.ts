import type { MailTexts } from './mail-wording.ts'

const OTHERWISE =
  'Se il cambiamento è inatteso: cambiare subito la password, chiudere le altre sessioni e avvisare un amministratore.'

export const it: MailTexts = {
  account: 'Account',
  enterCode: 'Inserire questo codice:',
  codeEnds: 'Il codice vale 24 ore e una volta sola.',
  orCode: 'Oppure inserire questo codice:',
  linkEnds: 'Il collegamento e il codice valgono 24 ore e una volta sola.',
  mails: {
    signup: {
      subject: 'Conferma la registrazione a Locanda',
      why: 'Con questo indirizzo è stata chiesta la registrazione a Locanda.',
      link: 'Per confermare la registrazione aprire questo collegamento nel browser della richiesta ' +
        '(in un altro la password andrà scelta di nuovo):',
      otherwise:
        'Se la registrazione non è stata chiesta, ignorare questo messaggio: senza conferma l’account non si attiva.'
    },
    recovery: {
      subject: 'Reimposta la password di Locanda',
      why: 'È stato chiesto di reimpostare la password di un account di Locanda.',
      link: 'Per scegliere una nuova password aprire questo collegamento:',
      otherwise: 'Se la richiesta è inattesa, ignorare questo messaggio: la password resta quella di prima.'
    },
    magiclink: {
      subject: 'Il collegamento per accedere a Locanda',
      why: 'È stato chiesto di accedere a Locanda con questo indirizzo.',
      link: 'Per accedere aprire questo collegamento:',
      otherwise: 'Se la richiesta è inattesa, ignorare questo messaggio e non dare il codice a nessuno.'
    },
    invite: {
      subject: 'Invito a Locanda',
      why: 'Questo è un invito a usare Locanda.',
      link: 'Per accettare l’invito aprire questo collegamento:',
      otherwise:
        'Se l’invito è inatteso e non si conosce chi invita, ignorare questo messaggio: ' +
        'senza conferma l’account non si attiva.'
    },
    email_change: {
      subject: 'Conferma il nuovo indirizzo e-mail',
      why: 'È stato chiesto di cambiare l’indirizzo e-mail di un account di Locanda.',
      email: 'Nuovo indirizzo',
      link: 'Per confermare il cambio aprire questo collegamento:',
      otherwise:
        'Se il cambio è inatteso, ignorare questo messaggio: senza conferma l’indirizzo resta quello di prima.'
    },
    reauthentication: {
      subject: 'Il codice di verifica di Locanda',
      why: 'Per confermare un’operazione sull’account di Locanda serve un codice di verifica.',
      otherwise: 'Se il codice è inatteso, non darlo a nessuno e cambiare la password.'
    }
  },
  notices: {
    factor_added: [
      'Nuovo secondo fattore', 'All’account di Locanda è stato aggiunto un secondo fattore.', OTHERWISE
    ],
    factor_removed: [
      'Secondo fattore rimosso', 'Dall’account di Locanda è stato rimosso un secondo fattore.', OTHERWISE
    ],
    recovery_codes: [
      'Nuovi codici di recupero',
      'Per l’account di Locanda sono stati creati nuovi codici di recupero: quelli di prima non valgono più.',
      OTHERWISE
    ],
    passkey_added: ['Nuova passkey', 'All’account di Locanda è stata aggiunta una passkey.', OTHERWISE],
    passkey_removed: ['Passkey rimossa', 'Dall’account di Locanda è stata rimossa una passkey.', OTHERWISE],
    access_reset: [
      'Account reimpostato',
      'Un amministratore ha tolto dall’account di Locanda i secondi fattori e le passkey.',
      'Se è inatteso, avvisare un amministratore.'
    ],
    codes_tried: [
      'Codici sbagliati per l’account',
      'Una persona che conosce la password di Locanda ha provato più volte il secondo fattore con codici sbagliati.',
      'Se i tentativi sono inattesi, cambiare la password: il secondo fattore ha impedito l’accesso. ' +
        'Se il codice dell’app non viene più accettato, accedere con un codice di recupero.'
    ]
  }
}
