/** Auth.js, here on Express. */
import { ExpressAuth, getSession } from '@auth/express'
import Credentials from '@auth/express/providers/credentials'
import express from 'express'
import { about, findUser, logIn, removeUser } from './accounts.mjs'
import { answer, askedUser, describe, endConnections, page, pageHeaders } from './drawbridge.mjs'

const config = {
  basePath: '/auth',
  trustHost: true,
  secret: process.env.APP_SECRET,
  providers: [
    Credentials({
      credentials: { email: {}, password: {}, sign_up: {} },
      authorize: (given) => logIn(given) ?? null,
    }),
  ],
  callbacks: { session: ({ session, token }) => ({ ...session, user: { ...session.user, id: token.sub } }) },
}
const app = express()
app.use(express.urlencoded({ extended: false }))
app.use(/^\/auth\/(.*)/, ExpressAuth(config)) // with Express 4: '/auth/*'

const currentUser = async (req) => findUser((await getSession(req, config))?.user.id)

// Drawbridge: the page of SIGN_IN_URL, SESSION_URL, and the end.
app.use('/connect', async (req, res, next) => {
  if (await currentUser(req)) return next()
  res.redirect(303, `/auth/signin?callbackUrl=${encodeURIComponent(req.originalUrl)}`)
})
app.get('/connect', async (req, res) => {
  res.set(pageHeaders).send(page(await describe(req.query.request), req.query.request))
})
app.post('/connect', async (req, res) => {
  const user = await currentUser(req)
  res.redirect(303, await answer(req.body.request, req.body.allow === 'yes', about(user)))
})
app.get('/api/session', async (req, res) => {
  const sub = await askedUser(req.headers.authorization)
  const user = sub && findUser(sub)
  if (user) res.json(about(user))
  else res.sendStatus(sub ? 404 : 401)
})
app.post('/close-account', async (req, res) => {
  const { id } = await currentUser(req)
  removeUser(id)
  await endConnections(id)
  res.redirect(303, '/auth/signout')
})

app.listen(Number(process.env.PORT), '127.0.0.1')
