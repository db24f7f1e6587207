/** Express with express-session. */
import express from 'express'
import session from 'express-session'
import { about, findUser, logIn, logInPage, removeUser, safePath } from './accounts.mjs'
import { answer, askedUser, describe, endConnections, page, pageHeaders } from './drawbridge.mjs'

const app = express()
const cookie = { httpOnly: true, sameSite: 'lax' }
app.use(session({ secret: process.env.APP_SECRET, resave: false, saveUninitialized: false, cookie }))
app.use(express.urlencoded({ extended: false }))

const currentUser = (req) => findUser(req.session.userId)

app.get('/', (req, res) => res.send(currentUser(req) ? 'Signed in.' : logInPage()))
app.get('/log-in', (req, res) => res.send(logInPage(req.query.next)))
app.post('/log-in', (req, res) => {
  const user = logIn(req.body)
  if (!user) return res.status(401).send(logInPage(req.body.next))
  req.session.regenerate(() => {
    req.session.userId = user.id
    res.redirect(303, safePath(req.body.next))
  })
})

// Drawbridge: the page of SIGN_IN_URL, SESSION_URL, and the end.
app.use('/connect', (req, res, next) =>
  currentUser(req) ? next() : res.redirect(303, `/log-in?next=${encodeURIComponent(req.originalUrl)}`),
)
app.get('/connect', async (req, res) => {
  res.set(pageHeaders).send(page(await describe(req.query.request), req.query.request))
})
app.post('/connect', async (req, res) => {
  res.redirect(303, await answer(req.body.request, req.body.allow === 'yes', about(currentUser(req))))
})
app.get('/api/session', async (req, res) => {
  const sub = await askedUser(req.headers.authorization)
  const user = sub && findUser(sub)
  if (user) res.json(about(user))
  else res.sendStatus(sub ? 404 : 401)
})
app.post('/close-account', async (req, res) => {
  const { id } = currentUser(req)
  removeUser(id)
  await endConnections(id)
  req.session.destroy(() => res.redirect(303, '/'))
})

app.listen(Number(process.env.PORT), '127.0.0.1')
