import { createRemoteJWKSet, jwtVerify } from 'jose'
import { DatabaseError, Pool, type PoolClient } from 'pg'

/** A data API over one database, like a Supabase project's. */
export interface Postgrest {
  /** Answers requests below `/rest/v1/`. */
  fetch(request: Request): Promise<Response>
  close(): Promise<void>
}

/** Configuration of {@link startPostgrest}. */
export interface PostgrestConfig {
  databaseUrl: string
  /** Key set and issuer of accepted tokens. */
  jwksUrl: string
  issuer: string
  /** Required value of `apikey`, as at a project's gateway. */
  apiKey: string
}

/** A Supabase project without tables: roles, users and functions for the caller. */
const projectSchema = `
  create role anon nologin;
  create role authenticated nologin;
  create schema auth;
  grant usage on schema auth, public to anon, authenticated;
  create table auth.users (id uuid primary key);
  create function auth.uid() returns uuid language sql stable as $$
    select (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid
  $$;`

const name = /^[a-z_][a-z0-9_]*$/

/**
 * Starts a stand-in for PostgREST: a small part of its query language over real tables. Each request is a transaction
 * with the role of its token, the token's claims in `request.jwt.claims` and the headers in `request.headers`, so that
 * the policies of the database decide.
 */
export async function startPostgrest(config: PostgrestConfig): Promise<Postgrest> {
  const pool = new Pool({ connectionString: config.databaseUrl, max: 5 })
  pool.on('error', () => {})
  await pool.query(projectSchema)
  const keys = createRemoteJWKSet(new URL(config.jwksUrl))

  /** Returns the claims of a request; undefined when its token is invalid. Without a token the role is `anon`. */
  async function claimsOf(request: Request): Promise<Record<string, unknown> | undefined> {
    const [, token] = /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '') ?? []
    if (token === undefined) return { role: 'anon' }
    try {
      const options = { issuer: config.issuer, audience: 'authenticated' }
      return (await jwtVerify(token, keys, options)).payload
    } catch {
      return undefined
    }
  }

  return {
    async fetch(request) {
      if (request.headers.get('apikey') !== config.apiKey) return refuse(401, 'No API key found in request')
      const claims = await claimsOf(request)
      if (!claims || (claims['role'] !== 'anon' && claims['role'] !== 'authenticated'))
        return refuse(401, 'JWT could not be used')
      const statement = await statementOf(request)
      if (!statement) return refuse(400, 'This stand-in does not know such a query')
      const client = await pool.connect()
      try {
        return Response.json(await runAs(client, { claims, headers: headersOf(request) }, statement), {
          status: request.method === 'POST' ? 201 : 200,
        })
      } catch (error) {
        if (!(error instanceof DatabaseError)) throw error
        // PostgREST, errors from PostgreSQL: insufficient privilege is 403 for a signed-in user.
        const status = error.code === '42501' ? (claims['role'] === 'anon' ? 401 : 403) : 400
        return refuse(status, error.message, error.code)
      } finally {
        client.release()
      }
    },
    close: () => pool.end(),
  }
}

interface Statement {
  sql: string
  values: unknown[]
}

/** What the transaction of a request knows about it. */
interface RequestSettings {
  claims: Record<string, unknown>
  headers: Record<string, string>
}

/** Returns the headers as PostgREST passes them on: names in lower case, cookies apart. */
function headersOf(request: Request): Record<string, string> {
  return Object.fromEntries([...request.headers].filter(([header]) => header !== 'cookie'))
}

async function runAs(
  client: PoolClient,
  { claims, headers }: RequestSettings,
  { sql, values }: Statement,
): Promise<unknown[]> {
  await client.query('begin')
  try {
    // One of two checked names: the statement takes no parameters.
    await client.query(`set local role ${String(claims['role'])}`)
    await client.query(
      `select set_config('request.jwt.claims', $1, true), set_config('request.headers', $2, true)`,
      [JSON.stringify(claims), JSON.stringify(headers)],
    )
    const { rows } = await client.query<Record<string, unknown>>(sql, values)
    await client.query('commit')
    return rows
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

/** Returns the statement of a request; undefined for unsupported ones. */
async function statementOf(request: Request): Promise<Statement | undefined> {
  const { pathname, searchParams } = new URL(request.url)
  const [, table = ''] = /^\/rest\/v1\/([a-z0-9_]+)$/.exec(pathname) ?? []
  const columns = (searchParams.get('select') ?? '').split(',')
  if (![table, ...columns].every((part) => name.test(part))) return undefined
  const values: unknown[] = []
  const where = conditionsOf(searchParams, values)
  if (where === undefined) return undefined
  const list = columns.join(', ')
  switch (request.method) {
    case 'GET': {
      const sql = `select ${list} from public.${table}${where}${orderOf(searchParams)}${limitOf(searchParams)}`
      return { sql, values }
    }
    case 'POST': {
      const row = await bodyOf(request)
      const slots = Object.values(row).map((value) => `$${values.push(value)}`)
      const sql = `insert into public.${table} (${Object.keys(row).join(', ')}) values (${slots.join(', ')})`
      return { sql: `${sql} returning ${list}`, values }
    }
    case 'PATCH': {
      const row = await bodyOf(request)
      const changes = Object.entries(row).map(([column, value]) => `${column} = $${values.push(value)}`)
      return { sql: `update public.${table} set ${changes.join(', ')}${where} returning ${list}`, values }
    }
    case 'DELETE':
      return { sql: `delete from public.${table}${where} returning ${list}`, values }
    default:
      return undefined
  }
}

async function bodyOf(request: Request): Promise<Record<string, unknown>> {
  const row = (await request.json()) as Record<string, unknown>
  if (!Object.keys(row).every((column) => name.test(column))) throw new TypeError('A column has no name.')
  return row
}

/**
 * Supports `column=eq.value` and `column=ilike.*text*`; undefined for another operator. Adds the values to `values`.
 */
function conditionsOf(parameters: URLSearchParams, values: unknown[]): string | undefined {
  const conditions: string[] = []
  for (const [column, condition] of parameters) {
    if (['select', 'order', 'limit'].includes(column)) continue
    const [, operator, operand = ''] = /^(eq|ilike)\.(.*)$/s.exec(condition) ?? []
    if (!name.test(column) || operator === undefined) return undefined
    const isEqual = operator === 'eq'
    const slot = `$${values.push(isEqual ? operand : operand.replaceAll('*', '%'))}`
    conditions.push(`${column}::text ${isEqual ? '=' : 'ilike'} ${slot}`)
  }
  return conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
}

function orderOf(parameters: URLSearchParams): string {
  const [, column, direction] = /^([a-z0-9_]+)\.(asc|desc)$/.exec(parameters.get('order') ?? '') ?? []
  return column === undefined ? '' : ` order by ${column} ${direction}`
}

function limitOf(parameters: URLSearchParams): string {
  const [limit] = /^\d+$/.exec(parameters.get('limit') ?? '') ?? []
  return limit === undefined ? '' : ` limit ${limit}`
}

function refuse(status: number, message: string, code = 'STANDIN'): Response {
  return Response.json({ code, message, details: null, hint: null }, { status })
}
