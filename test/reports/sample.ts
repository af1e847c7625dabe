import type { TestApp } from '#test/helper.ts'

/** Rows of a financial report in the contract's format. Row `n` has payouts of `n`.10 and 0.20 euros. */
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

/** A signed-in person: the header with a token, and the id. */
export async function person (
  { app, token }: Pick<TestApp, 'app' | 'token'>, name: string, role: 'operator' | 'admin' = 'operator'
) {
  const authorization = `Bearer ${await token({ name, role })}`
  const [row] = await app.sql<{ id: string }[]>`select id from users where email = ${`${name}@example.org`}`
  return { headers: { authorization }, id: row!.id }
}

/** The path of a PDF's download URL. */
export function pathOf (url: string): string {
  return new URL(url).pathname
}
