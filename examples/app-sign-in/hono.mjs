/** Hono with a signed cookie. */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { deleteCookie, getSignedCookie, setSignedCookie } from 'hono/cookie'
import { csrf } from 'hono/csrf'
import { about, findUser, logIn, logInPage, removeUser, safePath } from './accounts.mjs'
import { answer, askedUser, describe, endConnections, page, pageHeaders } from './drawbridge.mjs'

const app = new Hono()
const secret = process.env.APP_SECRET
app.use(csrf())

const currentUser = async (c) => findUser((await getSignedCookie(c, secret, 'user')) || '')

app.get('/', async (c) => c.html((await currentUser(c)) ? 'Signed in.' : logInPage()))
app.get('/log-in', (c) => c.html(logInPage(c.req.query('next'))))
app.post('/log-in', async (c) => {
  const form = await c.req.parseBody()
  const user = logIn(form)
  if (!user) return c.html(logInPage(form.next), 401)
  await setSignedCookie(c, 'user', user.id, secret, { httpOnly: true, sameSite: 'Lax' })
  return c.redirect(safePath(form.next), 303)
})

// Drawbridge: the page of SIGN_IN_URL, SESSION_URL, and the end.
app.use('/connect', async (c, next) => {
  const { pathname, search } = new URL(c.req.url)
  c.set('user', await currentUser(c))
  return c.get('user') ? next() : c.redirect(`/log-in?next=${encodeURIComponent(pathname + search)}`, 303)
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
  const user = sub && findUser(sub)
  return user ? c.json(about(user)) : c.body(null, sub ? 404 : 401)
})
app.post('/close-account', async (c) => {
  const { id } = await currentUser(c)
  removeUser(id)
  await endConnections(id)
  deleteCookie(c, 'user')
  return c.redirect('/', 303)
})

serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' })
