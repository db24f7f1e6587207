import { Hono } from 'hono'
import { type Account, normalizeEmail } from '../../../server/sandbox/provider/accounts/account.ts'
import { AuthError, renderAuthError } from '../../../server/sandbox/provider/auth-error.ts'
import { describeUser, type AuthServices } from '../../../server/sandbox/provider/auth-services.ts'
import { isUuid, readClaims } from '../../../server/sandbox/provider/api/bearer.ts'
import { parseGoDuration } from './go-duration.ts'
import { readJsonBody, type JsonBody } from '../../../server/sandbox/provider/api/json-body.ts'
import { hashPassword, validatePassword } from '../../../server/sandbox/provider/accounts/password.ts'

const DEFAULT_PAGE_SIZE = 50

const ADMIN_ROLES: ReadonlySet<unknown> = new Set(['service_role', 'supabase_admin'])

/** Whether an operator signed the request. */
export function isAdmin(services: AuthServices, request: Request): Promise<boolean> {
  return readClaims(services, request).then(
    (claims) => ADMIN_ROLES.has(claims['role']),
    () => false,
  )
}

/** The routes of the auth API with which an operator manages accounts, below `path`. */
export function createAdminApi(services: AuthServices, path: string): Hono {
  const { accounts, database } = services
  const api = new Hono().basePath(path)

  api.onError((error, c) => {
    if (error instanceof AuthError) return renderAuthError(error, c.req.raw)
    throw error
  })
  api.use(async (c, next) => {
    const claims = await readClaims(services, c.req.raw)
    // The token of a user or the `anon` key.
    if (!ADMIN_ROLES.has(claims['role'])) throw new AuthError(403, 'not_admin', 'User not allowed')
    await next()
  })

  api.get('/', (c) => {
    const page = pageNumber(c.req.query('page'), 1)
    const size = pageNumber(c.req.query('per_page'), DEFAULT_PAGE_SIZE)
    const sql = 'SELECT id FROM account ORDER BY created_at DESC, rowid DESC'
    const all = database.all<{ id: string }>(sql)
    const users = all.slice((page - 1) * size, page * size).map(({ id }) => describeUser(services, id))
    return c.json({ users, aud: 'authenticated' }, 200, { 'x-total-count': String(all.length) })
  })

  api.post('/', async (c) => {
    const body = await readJsonBody(c.req.raw)
    const email = body.text('email')
    if (email === '') {
      throw new AuthError(400, 'validation_failed', 'Cannot create a user without either an email or phone')
    }
    refuseTaken(email)
    const ban = readBan(body)
    // Without a password it has one that nobody knows.
    const password = body.text('password') || randomPassword()
    const passwordHash = await hashPassword(password, services.runtime.randomBytes(16))
    const id = database.transaction(() => {
      refuseTaken(email)
      const metadata = body.object('user_metadata') ?? {}
      const created = accounts.create({
        email,
        passwordHash,
        confirmed: body.flag('email_confirm'),
        metadata,
      })
      services.identities.addEmail(created)
      applyBan(created.id, ban)
      return created.id
    })
    return c.json(describeUser(services, id))
  })

  api.get('/:id', (c) => c.json(describeUser(services, load(c.req.param('id')).id)))

  api.put('/:id', async (c) => {
    const account = load(c.req.param('id'))
    const body = await readJsonBody(c.req.raw)
    const ban = readBan(body)
    const password = body.text('password')
    if (password !== '') validatePassword(password)
    const passwordHash =
      password === '' ? undefined : await hashPassword(password, services.runtime.randomBytes(16))
    database.transaction(() => {
      changeEmail(account, body.text('email'))
      if (body.flag('email_confirm')) accounts.confirm(account.id)
      if (passwordHash !== undefined) {
        accounts.setPasswordHash(account.id, passwordHash)
        services.sessions.endAll(account.id)
      }
      accounts.mergeMetadata(account.id, body.object('user_metadata') ?? {})
      applyBan(account.id, ban)
    })
    return c.json(describeUser(services, account.id))
  })

  api.delete('/:id', (c) => {
    accounts.delete(load(c.req.param('id')).id)
    return c.json({})
  })
  return api

  function load(id: string): Account {
    if (!isUuid(id)) throw new AuthError(404, 'validation_failed', 'user_id must be an UUID')
    const account = accounts.findById(id)
    if (account === undefined) throw new AuthError(404, 'user_not_found', 'User not found')
    return account
  }

  function refuseTaken(email: string): void {
    if (accounts.findByEmail(email) === undefined) return
    const message = 'A user with this email address has already been registered'
    throw new AuthError(422, 'email_exists', message)
  }

  function changeEmail(account: Account, email: string): void {
    if (email === '' || email.trim().toLowerCase() === account.email) return
    refuseTaken(email)
    const normal = normalizeEmail(email)
    database.run('UPDATE account SET email = ? WHERE id = ?', normal, account.id)
    database.run(
      `UPDATE identity SET data = json_set(data, '$.email', ?) WHERE account_id = ? AND provider = 'email'`,
      normal,
      account.id,
    )
  }

  /** The seconds of a ban, 0 to lift it; undefined when nothing is said about it. */
  function readBan(body: JsonBody): number | undefined {
    const text = body.text('ban_duration')
    if (text === '') return undefined
    const seconds = text === 'none' ? 0 : parseGoDuration(text)
    if (seconds !== undefined) return seconds
    throw new AuthError(400, 'validation_failed', 'invalid format for ban duration')
  }

  function applyBan(id: string, seconds: number | undefined): void {
    if (seconds === undefined) return
    accounts.ban(id, seconds === 0 ? undefined : services.runtime.now() + Math.floor(seconds))
  }

  function randomPassword(): string {
    return Buffer.from(services.runtime.randomBytes(24)).toString('base64url')
  }
}

function pageNumber(text: string | undefined, otherwise: number): number {
  const number = Number(text || otherwise)
  if (Number.isInteger(number) && number > 0) return number
  throw new AuthError(400, 'validation_failed', 'Bad Pagination Parameters')
}
