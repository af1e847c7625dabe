import type { TestApp } from '#test/helper.ts'

/** Rows of a financial report as the contract shows them; every amount is ten cents and whole euros by number. */
export function sampleRows (count: number): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, at) => ({
    listingId: `L${at % 3}`,
    listingTitle: ['Bilocale', 'Trilocale', 'Monolocale'][at % 3],
    firstName: 'Anna',
    lastName: `Bianchi ${at}`,
    Q1Payouts: `${at}.10`,
    Q1Checkins: 2,
    Q2Payouts: '0.20',
    Q2Checkins: 1
  }))
}

/** Somebody who has signed in: the header that proves it, and the id. */
export async function person (
  { app, token }: Pick<TestApp, 'app' | 'token'>, name: string, role: 'operator' | 'admin' = 'operator'
) {
  const authorization = `Bearer ${await token({ name, role })}`
  const [row] = await app.sql<{ id: string }[]>`select id from users where email = ${`${name}@example.org`}`
  return { headers: { authorization }, id: row!.id }
}

/** A path out of the address by which a PDF is downloaded. */
export function pathOf (url: string): string {
  return new URL(url).pathname
}
