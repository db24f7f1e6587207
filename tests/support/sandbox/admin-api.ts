import { Hono } from 'hono'
import { z } from 'zod'
import { AuthError, renderAuthError } from '../../../server/sandbox/provider/auth-error.ts'
import { describeUser, type AuthServices } from '../../../server/sandbox/provider/auth-services.ts'
import { readJsonBody, text } from '../../../server/sandbox/provider/api/json-body.ts'
import { Collection } from '../../../server/sandbox/database.ts'
import { hashPassword } from '../../../server/sandbox/provider/accounts/password.ts'

/** Creates the routes of the auth API with which an operator makes, bans and deletes accounts, below `path`. */
export function createAdminApi(services: AuthServices, path: string): Hono {
  const { accounts, runtime } = services
  const api = new Hono().basePath(path)

  api.onError((error, c) => {
    if (error instanceof AuthError) return renderAuthError(error, c.req.raw)
    throw error
  })
  api.use(async (c, next) => {
    const token = /^bearer (\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1]
    if (token === undefined)
      throw new AuthError(401, 'no_authorization', 'This endpoint requires a valid Bearer token')
    const { role } = await services.keys.verify(token).catch(() => {
      throw new AuthError(403, 'bad_jwt', 'invalid JWT: unable to parse or verify signature')
    })
    // A user's token or the `anon` key.
    if (role !== 'service_role') throw new AuthError(403, 'not_admin', 'User not allowed')
    await next()
  })
  api.get('/', (c) => c.json({ users: [], aud: 'authenticated' }))
  api.post('/', async (c) => {
    const shape = { email: text, password: text, email_confirm: z.boolean(), ban_duration: text }
    const { email, password, ...body } = await readJsonBody(c.req.raw, shape)
    const passwordHash = await hashPassword(password, runtime.randomBytes(16))
    const { id } = accounts.create({ kind: 'email', email, passwordHash, confirmed: body.email_confirm })
    return c.json(describeUser(ban(id, body.ban_duration)))
  })
  api.put('/:id', async (c) => {
    const body = await readJsonBody(c.req.raw, { ban_duration: text })
    return c.json(describeUser(ban(c.req.param('id'), body.ban_duration)))
  })
  api.delete('/:id', (c) => {
    const id = c.req.param('id')
    services.sessions.endAll(id)
    new Collection(services.database, 'account').delete('id = ?', id)
    return c.json({})
  })
  return api

  /** A duration in hours, such as `1h`; without one the account is not banned. */
  function ban(id: string, duration: string) {
    const hours = Number(duration.replace('h', ''))
    return accounts.update(id, (account, now) => {
      account.bannedUntil = now + hours * 3600
    })
  }
}
