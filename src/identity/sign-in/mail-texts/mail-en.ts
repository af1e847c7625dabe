import type { MailTexts } from './mail-wording.ts'

const OTHERWISE =
  'If this was not you, change your password at once, end the other sessions and tell an administrator.'

export const en: MailTexts = {
  account: 'Account',
  enterCode: 'Enter this code:',
  codeEnds: 'The code is valid for 24 hours and can be used once.',
  orCode: 'Or enter this code:',
  linkEnds: 'The link and the code are valid for 24 hours and can be used once.',
  mails: {
    signup: {
      subject: 'Confirm your registration at Locanda',
      why: 'A registration at Locanda was asked for with this address.',
      link: 'To confirm the registration open this link in the browser in which you asked for it (in another one ' +
        'you choose the password again):',
      otherwise: 'If you did not ask for the registration, ignore this message: without a confirmation the account ' +
        'does not become active.'
    },
    recovery: {
      subject: 'Reset your password for Locanda',
      why: 'Someone asked to reset the password of your account at Locanda.',
      link: 'To choose a new password open this link:',
      otherwise: 'If you did not ask for it, ignore this message: the password stays as it was.'
    },
    magiclink: {
      subject: 'Your link to sign in to Locanda',
      why: 'Someone asked to sign in to Locanda with this address.',
      link: 'To sign in open this link:',
      otherwise: 'If you did not ask to sign in, ignore this message and give the code to nobody.'
    },
    invite: {
      subject: 'Invitation to Locanda',
      why: 'You are invited to use Locanda.',
      link: 'To accept the invitation open this link:',
      otherwise: 'If you did not ask to join and do not know who invites you, ignore this message: without a ' +
        'confirmation the account does not become active.'
    },
    email_change: {
      subject: 'Confirm the new e-mail address',
      why: 'Someone asked to change the e-mail address of an account at Locanda.',
      email: 'New address',
      link: 'To confirm the change open this link:',
      otherwise:
        'If you did not ask for the change, ignore this message: without a confirmation the address stays as it was.'
    },
    reauthentication: {
      subject: 'Your verification code for Locanda',
      why: 'To confirm something you do with your account at Locanda you need a verification code.',
      otherwise: 'If you did not ask for the code, give it to nobody and change your password.'
    }
  },
  notices: {
    factor_added: ['New second factor', 'A second factor was added to your account at Locanda.', OTHERWISE],
    factor_removed: ['Second factor removed', 'A second factor was removed from your account at Locanda.', OTHERWISE],
    recovery_codes: [
      'New recovery codes',
      'New recovery codes were made for your account at Locanda: any earlier ones are no longer valid.',
      OTHERWISE
    ],
    passkey_added: ['New passkey', 'A passkey was added to your account at Locanda.', OTHERWISE],
    passkey_removed: ['Passkey removed', 'A passkey was removed from your account at Locanda.', OTHERWISE],
    access_reset: [
      'Account reset',
      'An administrator has removed the second factors and passkeys from your account at Locanda.',
      'If you did not expect this, tell an administrator.'
    ],
    codes_tried: [
      'Wrong codes for your account',
      'Someone who knows your password for Locanda has tried the second factor several times with wrong codes.',
      'If it was not you, change your password: the second factor has prevented the sign-in. If the code of your ' +
        'app is no longer accepted, sign in with a recovery code.'
    ]
  }
}
