import { Hono } from 'hono'
import { z } from 'zod'
import { type Account, normalizeEmail } from '../../../server/sandbox/provider/accounts/account.ts'
import { AuthError, renderAuthError } from '../../../server/sandbox/provider/auth-error.ts'
import { describeUser, type AuthServices } from '../../../server/sandbox/provider/auth-services.ts'
import { readClaims } from '../../../server/sandbox/provider/api/bearer.ts'
import { parseGoDuration } from './go-duration.ts'
import { object, readJsonBody, text } from '../../../server/sandbox/provider/api/json-body.ts'
import { hashPassword, validatePassword } from '../../../server/sandbox/provider/accounts/password.ts'

const DEFAULT_PAGE_SIZE = 50

const shape = {
  email: text,
  password: text,
  email_confirm: z.boolean().default(false),
  user_metadata: object,
  ban_duration: text,
}

const ADMIN_ROLES: ReadonlySet<unknown> = new Set(['service_role', 'supabase_admin'])

/** Returns whether an operator signed the request. */
export function isAdmin(services: AuthServices, request: Request): Promise<boolean> {
  return readClaims(services, request).then(
    (claims) => ADMIN_ROLES.has(claims['role']),
    () => false,
  )
}

/** Creates the routes of the auth API with which an operator manages accounts, below `path`. */
export function createAdminApi(services: AuthServices, path: string): Hono {
  const { accounts, database } = services
  const api = new Hono().basePath(path)

  api.onError((error, c) => {
    if (error instanceof AuthError) return renderAuthError(error, c.req.raw)
    throw error
  })
  api.use(async (c, next) => {
    const claims = await readClaims(services, c.req.raw)
    // A user's token or the `anon` key.
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
    const body = await readJsonBody(c.req.raw, shape)
    const { email } = body
    if (email === '') {
      throw new AuthError(400, 'validation_failed', 'Cannot create a user without either an email or phone')
    }
    refuseTaken(email)
    const ban = readBan(body.ban_duration)
    // Without a password it gets a random one.
    const password = body.password || randomPassword()
    const passwordHash = await hashPassword(password, services.runtime.randomBytes(16))
    const id = database.transaction(() => {
      refuseTaken(email)
      const metadata = body.user_metadata ?? {}
      const created = accounts.create({
        email,
        passwordHash,
        confirmed: body.email_confirm,
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
    const body = await readJsonBody(c.req.raw, shape)
    const ban = readBan(body.ban_duration)
    const { password } = body
    if (password !== '') validatePassword(password)
    const passwordHash =
      password === '' ? undefined : await hashPassword(password, services.runtime.randomBytes(16))
    database.transaction(() => {
      changeEmail(account, body.email)
      if (body.email_confirm) accounts.confirm(account.id)
      if (passwordHash !== undefined) {
        accounts.setPasswordHash(account.id, passwordHash)
        services.sessions.endAll(account.id)
      }
      accounts.mergeMetadata(account.id, body.user_metadata ?? {})
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

  /** Returns the seconds of a ban, 0 to lift it; undefined when the request does not mention it. */
  function readBan(duration: string): number | undefined {
    if (duration === '') return undefined
    const seconds = duration === 'none' ? 0 : parseGoDuration(duration)
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
