// The package's main module would load the names in all 79 languages.
import countries from 'i18n-iso-countries/index.js'
import type { Stato } from './types.ts'

/**
 * What people call a state that the table calls otherwise, by ISO 3166-1 alpha-2 code: Italian everyday names, and
 * those in which many guests write their own country.
 */
const COMMON_NAMES: Readonly<Record<string, readonly string[]>> = {
  AE: ['EAU', 'UAE', 'DUBAI', 'ABU DHABI'],
  AT: ['OSTERREICH'],
  AZ: ['AZERBAIJAN'],
  BA: ['BOSNIA ERZEGOVINA', 'BOSNIA E ERZEGOVINA', 'BOSNIA HERZEGOVINA'],
  BD: ['BANGLA DESH'],
  BE: ['BELGIUM', 'BELGIQUE'],
  BH: ['BAHRAIN'],
  BM: ['BERMUDA'],
  BR: ['BRAZIL'],
  BY: ['BELARUS'],
  CD: ['CONGO KINSHASA', 'ZAIRE', 'RDC'],
  CG: ['CONGO BRAZZAVILLE', 'REPUBBLICA DEL CONGO'],
  CH: ['SCHWEIZ', 'SUISSE', 'SWITZERLAND', 'CONFEDERAZIONE ELVETICA'],
  CI: ['COTE DIVOIRE', 'IVORY COAST'],
  CN: ['CHINA', 'REPUBBLICA POPOLARE CINESE'],
  CV: ['CABO VERDE'],
  CZ: ['CECHIA', 'CZECHIA'],
  DE: ['DEUTSCHLAND', 'GERMANY'],
  DK: ['DANMARK', 'DENMARK'],
  DO: ['SANTO DOMINGO'],
  EH: ['SAHARA OCCIDENTALE'],
  ES: ['ESPANA', 'SPAIN'],
  FJ: ['FIJI'],
  FK: ['FALKLAND'],
  FO: ['ISOLE FAROE', 'FAEROER'],
  FR: ['FRANCE'],
  GB: [
    'INGHILTERRA', 'GRAN BRETAGNA', 'SCOZIA', 'GALLES', 'IRLANDA DEL NORD', 'UK', 'UNITED KINGDOM', 'ENGLAND',
    'GREAT BRITAIN'
  ],
  GR: ['HELLAS', 'GREECE'],
  HR: ['HRVATSKA', 'CROATIA'],
  HU: ['MAGYARORSZAG', 'HUNGARY'],
  IE: ['EIRE', 'IRELAND'],
  IM: ['ISOLA DI MAN'],
  JM: ['JAMAICA'],
  JP: ['JAPAN'],
  KE: ['KENIA'],
  KG: ['KIRGHISISTAN', 'KIRGHIZSTAN'],
  KN: ['SAINT KITTS E NEVIS', 'ST KITTS'],
  KP: ['NORD COREA', 'NORTH KOREA'],
  KR: ['SUD COREA', 'COREA', 'SOUTH KOREA'],
  KZ: ['KAZAKHSTAN'],
  LC: ['SANTA LUCIA'],
  MA: ['MOROCCO'],
  MD: ['MOLDOVA'],
  MH: ['ISOLE MARSHALL'],
  MK: ['MACEDONIA', 'NORTH MACEDONIA'],
  MU: ['MAURITIUS'],
  MX: ['MEXICO'],
  MY: ['MALESIA'],
  NL: ['OLANDA', 'HOLLAND', 'NEDERLAND', 'NETHERLANDS'],
  NO: ['NORGE', 'NORWAY'],
  PG: ['PAPUA NUOVA GUINEA'],
  PH: ['PHILIPPINES'],
  PL: ['POLSKA', 'POLAND'],
  PR: ['PORTORICO'],
  PT: ['PORTUGAL'],
  RE: ['RIUNIONE'],
  RU: ['RUSSIA'],
  RW: ['RWANDA'],
  SE: ['SVERIGE', 'SWEDEN'],
  SI: ['SLOVENIJA'],
  SK: ['SLOVACCHIA', 'SLOVENSKO', 'SLOVAKIA'],
  SZ: ['ESWATINI'],
  TH: ['TAILANDIA'],
  TL: ['TIMOR EST', 'TIMOR ORIENTALE'],
  TR: ['TURKIYE', 'TURKEY'],
  TZ: ['ZANZIBAR'],
  UA: ['UKRAINE'],
  US: ['AMERICA', 'UNITED STATES'],
  VA: ['SANTA SEDE'],
  VC: ['SAN VINCENZO'],
  VN: ['VIET NAM'],
  XK: ['KOSOVA'],
  ZA: ['SUD AFRICA', 'SOUTH AFRICA']
}

/** Other names under which a search finds a state; none for one that has ceased. */
export function commonNames ({ iso2 }: Stato): readonly string[] {
  return (iso2 !== null && COMMON_NAMES[iso2]) || []
}

/** The ISO 3166-1 codes of a state: two letters, three letters, three digits. */
export function isoCodes ({ iso2, iso3 }: Stato): string[] {
  return [iso2, iso3, iso2 === null ? undefined : countries.alpha2ToNumeric(iso2)].filter((code) => code != null)
}
