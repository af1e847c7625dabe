import type { MailTexts } from './mail-wording.ts'

const OTHERWISE =
  'Si ce n’est pas vous, changez tout de suite votre mot de passe, fermez les autres sessions et prévenez ' +
  'un administrateur.'

export const fr: MailTexts = {
  account: 'Compte',
  enterCode: 'Saisissez ce code :',
  codeEnds: 'Le code est valable 24 heures et une seule fois.',
  orCode: 'Ou saisissez ce code :',
  linkEnds: 'Le lien et le code sont valables 24 heures et une seule fois.',
  mails: {
    signup: {
      subject: 'Confirmez votre inscription à Locanda',
      why: 'Une inscription à Locanda a été demandée avec cette adresse.',
      link: 'Pour confirmer l’inscription, ouvrez ce lien dans le navigateur où vous l’avez demandée (dans un ' +
        'autre, vous choisirez de nouveau le mot de passe) :',
      otherwise: 'Si vous n’avez pas demandé l’inscription, ignorez ce message : sans confirmation, le compte ne ' +
        'devient pas actif.'
    },
    recovery: {
      subject: 'Réinitialisez le mot de passe de Locanda',
      why: 'La réinitialisation du mot de passe de votre compte Locanda a été demandée.',
      link: 'Pour choisir un nouveau mot de passe, ouvrez ce lien :',
      otherwise: 'Si vous ne l’avez pas demandée, ignorez ce message : le mot de passe reste celui d’avant.'
    },
    magiclink: {
      subject: 'Votre lien de connexion à Locanda',
      why: 'Une connexion à Locanda a été demandée avec cette adresse.',
      link: 'Pour vous connecter, ouvrez ce lien :',
      otherwise: 'Si vous ne l’avez pas demandée, ignorez ce message et ne donnez le code à personne.'
    },
    invite: {
      subject: 'Invitation à Locanda',
      why: 'Vous êtes invité à utiliser Locanda.',
      link: 'Pour accepter l’invitation, ouvrez ce lien :',
      otherwise: 'Si vous n’avez rien demandé et ne savez pas qui vous invite, ignorez ce message : sans ' +
        'confirmation, le compte ne devient pas actif.'
    },
    email_change: {
      subject: 'Confirmez la nouvelle adresse e-mail',
      why: 'Le changement de l’adresse e-mail d’un compte Locanda a été demandé.',
      email: 'Nouvelle adresse',
      link: 'Pour confirmer le changement, ouvrez ce lien :',
      otherwise: 'Si vous n’avez pas demandé le changement, ignorez ce message : sans confirmation, l’adresse reste ' +
        'celle d’avant.'
    },
    reauthentication: {
      subject: 'Votre code de vérification de Locanda',
      why: 'Pour confirmer une opération sur votre compte Locanda, il faut un code de vérification.',
      otherwise: 'Si vous n’avez pas demandé le code, ne le donnez à personne et changez votre mot de passe.'
    }
  },
  notices: {
    factor_added: ['Nouveau second facteur', 'Un second facteur a été ajouté à votre compte Locanda.', OTHERWISE],
    factor_removed: [
      'Second facteur supprimé',
      'Un second facteur a été supprimé de votre compte Locanda.',
      OTHERWISE
    ],
    recovery_codes: [
      'Nouveaux codes de récupération',
      'De nouveaux codes de récupération ont été créés pour votre compte Locanda : les anciens ne sont plus valables.',
      OTHERWISE
    ],
    passkey_added: ['Nouvelle clé d’accès', 'Une clé d’accès a été ajoutée à votre compte Locanda.', OTHERWISE],
    passkey_removed: ['Clé d’accès supprimée', 'Une clé d’accès a été supprimée de votre compte Locanda.', OTHERWISE],
    access_reset: [
      'Compte réinitialisé',
      'Un administrateur a supprimé les seconds facteurs et les clés d’accès de votre compte Locanda.',
      'Si vous ne vous y attendiez pas, prévenez un administrateur.'
    ],
    codes_tried: [
      'Codes erronés pour votre compte',
      'Quelqu’un qui connaît votre mot de passe de Locanda a essayé plusieurs fois le second facteur avec ' +
        'des codes erronés.',
      'Si ce n’est pas vous, changez votre mot de passe : le second facteur a empêché la connexion. Si ' +
        'le code de l’application n’est plus accepté, connectez-vous avec un code de récupération.'
    ]
  }
}
