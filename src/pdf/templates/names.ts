/** The built-in template of the financial report, as the contract names it. */
export const REPORT_TEMPLATE = 'd2577b23c4d40496'

/** The built-in template of the welcome letter. */
export const LETTER_TEMPLATE = 'b7c41f0a92d85e36'
