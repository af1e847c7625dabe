import type { Config } from '#src/config/config.ts'

/** The page that the links of mails open, where no front end is to. */
export const CONFIRM_PAGE = '/auth/conferma'

/** The link to it. @param type as in `/verify` */
export function confirmPageLink ({ PUBLIC_URL }: Pick<Config, 'PUBLIC_URL'>, token: string, type: string): string {
  return `${PUBLIC_URL}${CONFIRM_PAGE}?${new URLSearchParams({ token, type }).toString()}`
}
