/** better-auth, here on Hono. */
import { serve } from '@hono/node-server'
import { betterAuth } from 'better-auth'
import { memoryAdapter } from 'better-auth/adapters/memory'
import { Hono } from 'hono'
import { csrf } from 'hono/csrf'
import { answer, askedUser, describe, endConnections, page, pageHeaders } from './drawbridge.mjs'

const auth = betterAuth({
  baseURL: process.env.APP_URL,
  secret: process.env.APP_SECRET,
  database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
  emailAndPassword: { enabled: true },
  user: { deleteUser: { enabled: true, afterDelete: ({ id }) => endConnections(id) } },
})

const app = new Hono()
app.on(['GET', 'POST'], '/api/auth/*', (c) => auth.handler(c.req.raw))
app.get('/log-in', (c) =>
  c.html(`<form method="post" action="/api/auth/sign-up/email"><input name="name"><input name="email">
<input name="password" type="password"><button name="sign_up">Sign up</button></form>`),
)

// Drawbridge: the page of SIGN_IN_URL, and SESSION_URL. The end is `afterDelete` above.
const about = ({ id: sub, email, emailVerified, name }) => ({
  sub,
  email,
  email_verified: emailVerified,
  name,
})
app.use('/connect', csrf(), async (c, next) => {
  const { pathname, search } = new URL(c.req.url)
  const signedIn = await auth.api.getSession({ headers: c.req.raw.headers })
  c.set('user', signedIn?.user)
  return signedIn ? next() : c.redirect(`/log-in?next=${encodeURIComponent(pathname + search)}`, 303)
})
app.get('/connect', async (c) => {
  return c.html(page(await describe(c.req.query('request')), c.req.query('request')), 200, pageHeaders)
})
app.post('/connect', async (c) => {
  const { request, allow } = await c.req.parseBody()
  return c.redirect(await answer(request, allow === 'yes', about(c.get('user'))), 303)
})
app.get('/api/session', async (c) => {
  const sub = await askedUser(c.req.header('authorization'))
  const user = sub && (await (await auth.$context).internalAdapter.findUserById(sub))
  return user && !user.banned ? c.json(about(user)) : c.body(null, sub ? 404 : 401)
})

serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' })
