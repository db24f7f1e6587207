/** Stands for the accounts that the app has already: in memory, so that they are gone with the process. */
import { randomUUID, scryptSync, timingSafeEqual } from 'node:crypto'

const users = new Map()

function signUp({ email, password }) {
  const salt = randomUUID()
  const user = { id: randomUUID(), email, salt, hash: scryptSync(password, salt, 32) }
  users.set(user.id, user)
  return user
}

/** Of the posted form below. */
export function logIn({ email, password, sign_up: isNew }) {
  if (isNew) return signUp({ email, password })
  const user = [...users.values()].find((one) => one.email === email)
  return user && timingSafeEqual(scryptSync(password, user.salt, 32), user.hash) ? user : undefined
}

export const findUser = (id) => users.get(id)
export const removeUser = (id) => users.delete(id)

/** What Drawbridge learns of a user. An address counts once the app has verified it, which this one does not. */
export const about = (user) => ({
  sub: user.id,
  email: user.email,
  email_verified: false,
  name: user.email.split('@')[0],
  claims: { plan: 'free' },
})

/** Only a path of this app: a link must not lead people elsewhere after their sign-in. */
export const safePath = (next) => (/^\/(?![/\\])/.test(next ?? '') ? next : '/')

const escape = (text) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

export const logInPage = (next) => `<!doctype html><title>Sign in</title><form method="post" action="/log-in">
<input type="hidden" name="next" value="${escape(safePath(next))}">
<input name="email" type="email" required> <input name="password" type="password" required>
<button name="log_in">Sign in</button> <button name="sign_up" value="yes">Sign up</button></form>`
