import type { EstablishmentAccount } from '#schemas/police-account.ts'
import { html, type Html } from '#src/lib/html.ts'
import { NOTHING } from '../desk-layout.ts'
import { fill, instantText, type Desk } from '../desk-page.ts'
import { establishmentTexts } from '../texts/establishment-texts.ts'

export const SETTINGS = '/impostazioni'

/** The police account of an establishment in words, and the result of the last test. */
export function accountState (desk: Desk, account: EstablishmentAccount): Html {
  const texts = establishmentTexts[desk.language]
  const { origine, configurato, utente, ultima_prova: test } = account
  const state = !configurato || origine === null ? texts.noAccount : fill(texts[origine], utente ?? '')
  const tested = test === null
    ? NOTHING
    : html`<p${test.riuscita ? NOTHING : html` class="act-now"`}>${
      fill(test.riuscita ? texts.testDone : texts.testFailed, instantText(desk, test.quando))}</p>`
  return html`<p>${state}</p>${tested}\n`
}
