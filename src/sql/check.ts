import type postgres from 'postgres'
import { isMeant } from './rights.ts'

/** The first object id that is not PostgreSQL's own (`FirstNormalObjectId`). */
const FIRST_OWN = 16_384
/** MAINTAIN came with PostgreSQL 17, grants on settings with 15. */
const MAINTAIN_SINCE = 170_000
const SETTINGS_SINCE = 150_000

/** Extensions in C whose functions reach neither files, nor programs, nor other servers. */
const HARMLESS_EXTENSIONS = [
  'plpgsql', 'btree_gin', 'btree_gist', 'citext', 'cube', 'earthdistance', 'fuzzystrmatch', 'hstore', 'intarray', 'isn',
  'ltree', 'pg_stat_statements', 'pg_trgm', 'pgcrypto', 'seg', 'tablefunc', 'tsm_system_rows', 'tsm_system_time',
  'unaccent', 'uuid-ossp', 'vector'
]

/** The columns, as JSON, of which a privilege is held, or is not; `[null]` is a whole table. */
interface Held { schema: string, name: string, columns: string, privilege: string, held: boolean }

/**
 * What the role can do though it should not, and what it lacks, in Italian; empty when it is as `RIGHTS` says.
 * PostgreSQL is asked for what is in force, whoever granted it: to the role, to PUBLIC, or to a role that it is in.
 */
export async function findFaults (sql: postgres.ISql, role: string): Promise<string[]> {
  const [found] = await sql<{ oid: string, version: number, schema: string | null }[]>`
    select oid::text as oid, current_setting('server_version_num')::int as version, current_schema() as schema
    from pg_roles where rolname = ${role}`
  if (!found) return ['il ruolo manca']
  const { oid, version, schema } = found
  const faults = await Promise.all([
    attributeFaults(sql, oid),
    tableFaults(sql, oid, schema, version >= MAINTAIN_SINCE),
    catalogFaults(sql, oid),
    functionFaults(sql, oid),
    placeFaults(sql, oid),
    version >= SETTINGS_SINCE ? settingFaults(sql, oid) : []
  ])
  return [...new Set(faults.flat())]
}

async function attributeFaults (sql: postgres.ISql, oid: string): Promise<string[]> {
  const rows = await sql<{ fault: string }[]>`
    select unnest(array[
      case when rolsuper then 'è superutente' end,
      case when rolcreatedb then 'può creare database' end,
      case when rolcreaterole then 'può creare ruoli' end,
      case when rolreplication then 'può replicare' end,
      case when rolbypassrls then 'aggira la sicurezza delle righe' end,
      case when not rolcanlogin then 'non può collegarsi' end,
      case when exists (select from pg_auth_members where member = r.oid) then 'è membro di un altro ruolo' end,
      case when exists (select from pg_db_role_setting where setrole = r.oid) then 'ha impostazioni proprie' end,
      case when exists (select from pg_shdepend where refclassid = 'pg_authid'::regclass and refobjid = r.oid
        and deptype = 'o') then 'possiede oggetti' end
    ]) as fault from pg_roles r where r.oid = ${oid}`
  return rows.flatMap(({ fault }) => fault ?? [])
}

/**
 * Rights on tables, column by column where PostgreSQL has rights on columns, and on sequences. The columns come
 * together: as rows they are 2,500, before each statement of the console.
 */
async function tableFaults (
  sql: postgres.ISql,
  oid: string,
  schema: string | null,
  hasMaintain: boolean
): Promise<string[]> {
  const whole = ['DELETE', 'TRUNCATE', 'TRIGGER', ...(hasMaintain ? ['MAINTAIN'] : [])].join()
  const rows = await sql<Held[]>`
    with ours as (
      select c.oid, c.relkind, n.nspname as schema, c.relname as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.oid >= ${FIRST_OWN} and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    )
    select schema, name, privilege, held, json_agg("column")::text as columns from (
      select schema, name, a.attname as column, privilege,
        has_column_privilege(${oid}::oid, o.oid, a.attnum, privilege) as held
      from ours o join pg_attribute a on a.attrelid = o.oid and a.attnum > 0 and not a.attisdropped,
        unnest('{SELECT,INSERT,UPDATE,REFERENCES}'::text[]) as privilege
      where relkind <> 'S'
      union all
      select schema, name, null, privilege, has_table_privilege(${oid}::oid, o.oid, privilege)
      from ours o, unnest(string_to_array(${whole}, ',')) as privilege
      where relkind <> 'S'
      union all
      select schema, name, null, privilege, has_sequence_privilege(${oid}::oid, o.oid, privilege)
      from ours o, unnest('{USAGE,SELECT,UPDATE}'::text[]) as privilege
      where relkind = 'S'
    ) as rights group by schema, name, privilege, held order by schema, name, privilege`
  return rows.flatMap(({ schema: place, name, columns, privilege, held }) => {
    const isFault = (column: string | null) =>
      held !== (place === schema && isMeant(name, privilege, column ?? undefined))
    const found = (JSON.parse(columns) as (string | null)[]).some(isFault)
    return found ? [`${held ? 'può' : 'gli manca'} ${privilege} su ${name}`] : []
  })
}

/**
 * PostgreSQL's own tables and views, as far as they were closed when the cluster was made. Views of the
 * information schema show each role only what it may use.
 */
async function catalogFaults (sql: postgres.ISql, oid: string): Promise<string[]> {
  const rows = await sql<{ fault: string }[]>`
    select distinct 'può ' || privilege || ' su ' || c.relname as fault
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped,
      unnest('{SELECT,INSERT,UPDATE}'::text[]) as privilege
    where c.relnamespace = 'pg_catalog'::regnamespace and c.relkind in ('r', 'v')
      and has_column_privilege(${oid}::oid, c.oid, a.attnum, privilege)
      and not exists (
        select from pg_init_privs i, aclexplode(i.initprivs) x
        where i.classoid = 'pg_class'::regclass and i.objoid = c.oid and i.objsubid in (0, a.attnum)
          and x.grantee = 0 and x.privilege_type = privilege)`
  return rows.map(({ fault }) => fault)
}

/** PostgreSQL's own functions that were closed at first, and further ones that do more than their caller may. */
async function functionFaults (sql: postgres.ISql, oid: string): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select p.proname as name from pg_proc p
    where p.oid < ${FIRST_OWN} and has_function_privilege(${oid}::oid, p.oid, 'EXECUTE')
      and exists (select from pg_init_privs i
        where i.classoid = 'pg_proc'::regclass and i.objoid = p.oid and i.objsubid = 0)
      and not exists (
        select from pg_init_privs i, aclexplode(i.initprivs) x
        where i.classoid = 'pg_proc'::regclass and i.objoid = p.oid and i.objsubid = 0
          and x.grantee = 0 and x.privilege_type = 'EXECUTE')
    union all
    select p.proname from pg_proc p join pg_language l on l.oid = p.prolang
    where p.oid >= ${FIRST_OWN} and has_function_privilege(${oid}::oid, p.oid, 'EXECUTE')
      -- No statement can call these.
      and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
      and (p.prosecdef or not l.lanpltrusted and not exists (
        select from pg_depend d join pg_extension e on e.oid = d.refobjid
        where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
          and d.refclassid = 'pg_extension'::regclass
          and e.extname = any(string_to_array(${HARMLESS_EXTENSIONS.join()}, ','))))`
  return rows.map(({ name }) => `può eseguire la funzione ${name}`)
}

/**
 * Where it could make objects of its own. Temporary ones, too: a function that runs with its owner's rights finds a
 * temporary table before the real one, and with it triggers of whoever made it.
 */
async function placeFaults (sql: postgres.ISql, oid: string): Promise<string[]> {
  const rows = await sql<{ fault: string }[]>`
    select 'può ' || privilege || ' nel database' as fault from unnest('{CREATE,TEMPORARY}'::text[]) as privilege
    where has_database_privilege(${oid}::oid, current_database(), privilege)
    union all
    select 'può creare oggetti nello schema ' || nspname from pg_namespace
    where has_schema_privilege(${oid}::oid, oid, 'CREATE')
    union all
    select 'può usare il server esterno ' || srvname from pg_foreign_server
    where has_server_privilege(${oid}::oid, oid, 'USAGE')`
  return rows.map(({ fault }) => fault)
}

async function settingFaults (sql: postgres.ISql, oid: string): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select parname as name from pg_parameter_acl, aclexplode(paracl) x where x.grantee in (0, ${oid}::oid)`
  return rows.map(({ name }) => `può cambiare l’impostazione ${name}`)
}
