import {
  establishmentIds, establishmentsOf, findEstablishment, FIRST_ESTABLISHMENT
} from '#src/bookings/index.ts'
import type { Executor } from '#src/database/connect.ts'
import { SendQueue, type AccountOfBooking, type LedgerBase, type LedgerContext } from '../ledger/ledger-context.ts'
import { receiptArchive, type ReceiptArchive } from '../receipts/receipt-archive.ts'
import { accountName, type PoliceServices } from '../service/police-service.ts'
import { credentialsOf, readAccountRows, type AccountRow } from './account-rows.ts'

/** A police account in use, with the parts that send for it and fetch its receipts. */
export interface Account { ledger: LedgerContext, archive: ReceiptArchive, categoria: AccountRow['categoria'] }

/** The source of the credentials of an establishment: the environment, the sandbox, or a row. */
export type Source =
  { kind: 'ambiente' | 'sandbox', name: string } | { kind: 'struttura', name: string, row: AccountRow }

/** The accounts in use at one moment. */
export interface AccountsInUse {
  /** The names of the accounts of all establishments, even if the credentials cannot be decrypted. */
  names: readonly string[]
  /** The usable accounts, the first establishment's first. */
  accounts: readonly Account[]
  /** The usable account with this name in the ledger. */
  named (account: string): Account | undefined
  /** The usable account of an establishment. */
  of (establishment: number): Account | undefined
  sourceOf (establishment: number): Source | undefined
  rows: readonly AccountRow[]
}

export type PoliceAccounts = ReturnType<typeof policeAccounts>

interface Options {
  base: Omit<LedgerBase, 'accountOf'>
  services: PoliceServices
  closing: AbortSignal
}

/**
 * The police accounts of the establishments. Each has its own login, send queue and receipts, so one account with wrong
 * credentials does not stop the others. Credentials are read from the database every time, because another process may
 * change them.
 */
export function policeAccounts ({ base, services, closing }: Options) {
  const { db, keys, mode, log } = base
  const { own } = services
  const queues = new Map<string, SendQueue>()
  const cache = new Map<string, { chiave: string, account: Account }>()
  const ledgerBase: LedgerBase = { ...base, accountOf }
  const archiveOf = (service: LedgerContext['service'] | null) =>
    receiptArchive({ db, service, mode, clock: base.clock, closing, inUse: async () => (await read()).names })
  const withoutAccount = archiveOf(null)

  function open (source: Source): Account | undefined {
    const { name } = source
    const chiave = source.kind === 'struttura' ? source.row.chiave : source.kind
    const categoria = source.kind === 'struttura' ? source.row.categoria : null
    const cached = cache.get(name)
    if (cached?.chiave === chiave) return { ...cached.account, categoria }
    const service = serviceOf(source)
    if (service === undefined) return undefined
    const sendQueue = queues.get(name) ?? new SendQueue(closing)
    queues.set(name, sendQueue)
    const account = { ledger: { ...ledgerBase, service, sendQueue }, archive: archiveOf(service), categoria }
    cache.set(name, { chiave, account })
    return account
  }

  function serviceOf (source: Source): LedgerContext['service'] | undefined {
    if (source.kind !== 'struttura') return own!.service
    try {
      return services.of(credentialsOf(keys, source.row)!)
    } catch (err) {
      log.error({ err, struttura: source.row.struttura_id }, 'the credentials of a police account cannot be decrypted')
      return undefined
    }
  }

  /** The source of the credentials of an establishment, following at most one reference. */
  function sourceIn (rows: readonly AccountRow[], establishment: number, isReferred = false): Source | undefined {
    const isFirst = establishment === FIRST_ESTABLISHMENT
    if (isFirst && own?.isGiven) return { kind: 'ambiente', name: own.service.account }
    const row = rows.find(({ struttura_id }) => struttura_id === establishment)
    if (row?.utente) return { kind: 'struttura', name: accountName(mode, row.utente), row }
    if (row?.di_struttura) return isReferred ? undefined : sourceIn(rows, row.di_struttura, true)
    return isFirst && own ? { kind: 'sandbox', name: own.service.account } : undefined
  }

  async function read (): Promise<AccountsInUse> {
    const rows = await readAccountRows(db, mode)
    const ids = new Set([FIRST_ESTABLISHMENT, ...rows.map(({ struttura_id }) => struttura_id)])
    const sources = new Map([...ids].flatMap((id) => {
      const source = sourceIn(rows, id)
      return source === undefined ? [] : [[id, source] as const]
    }))
    const opened = new Map<string, Account>()
    for (const source of sources.values()) {
      const account = opened.get(source.name) ?? open(source)
      if (account) opened.set(source.name, account)
    }
    return {
      rows,
      names: [...new Set([...sources.values()].map(({ name }) => name))],
      accounts: [...opened.values()],
      named: (account) => opened.get(account),
      of: (establishment) => opened.get(sources.get(establishment)?.name ?? ''),
      sourceOf: (establishment) => sources.get(establishment)
    }
  }

  /**
   * Returns the account of each booking, from the establishment of its unit. A booking without a unit, or an unknown
   * booking, has an account only if all establishments share one.
   */
  async function accountOf (executor: Executor, bookings: readonly (number | null)[]) {
    const known = bookings.filter((id) => id !== null)
    const [rows, ids, establishments] = await Promise.all([
      readAccountRows(executor, mode), establishmentIds(executor), establishmentsOf(executor, known)
    ])
    const names = new Map(ids.map((id) => [id, sourceIn(rows, id)?.name]))
    const distinct = new Set(names.values())
    return (booking: number | null): AccountOfBooking => {
      const establishment = booking === null ? undefined : establishments.get(booking)
      if (establishment === undefined && distinct.size > 1) return { account: undefined, missing: 'unita' }
      const account = establishment === undefined ? [...distinct][0] : names.get(establishment)
      return account === undefined ? { account, missing: 'account', establishment } : { account, missing: null }
    }
  }

  return {
    base: ledgerBase,
    read,
    accountOf,
    /**
     * The account of an establishment, the first by default. Null if it has none, or it cannot be used.
     * @throws StrutturaNonTrovata
     */
    async of (establishment = FIRST_ESTABLISHMENT): Promise<Account | null> {
      if (establishment !== FIRST_ESTABLISHMENT) await findEstablishment(db, establishment)
      return (await read()).of(establishment) ?? null
    },
    /** Reads stored receipts when there is no account. */
    withoutAccount,
    isGivenByEnvironment: own?.isGiven ?? false,
    /** Resolves when no submission and no fetch is in progress. */
    async settled (): Promise<void> {
      await Promise.all([
        ...[...queues.values()].map((queue) => queue.whenEmpty()),
        ...[...cache.values()].map(({ account }) => account.archive.settled())
      ])
    }
  }
}
