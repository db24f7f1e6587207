/** What a web app needs of Drawbridge, whatever its framework is. Only its server may have the secret. */
import { jwtVerify, SignJWT } from 'jose'

const door = process.env.DRAWBRIDGE_BASE_URL
const sessionUrl = process.env.DRAWBRIDGE_SESSION_URL
const key = new TextEncoder().encode(process.env.DRAWBRIDGE_SIGN_IN_SECRET)

const sign = (type, sub, claims = {}) =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', typ: `drawbridge-${type}+jwt` })
    .setAudience(door)
    .setSubject(String(sub))
    .setIssuedAt()
    .setExpirationTime('60s')
    .setJti(crypto.randomUUID())
    .sign(key)

/** Describes the request that brought the browser to the page: who asks, and for what. */
export async function describe(request) {
  const response = await fetch(`${door}/oauth/app?request=${encodeURIComponent(request)}`)
  return response.json()
}

/** Answers for a user who is signed in here, after their click. Returns where the browser goes next. */
export async function answer(request, allow, { sub, ...about }) {
  const response = await fetch(`${door}/oauth/app`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${await sign('user', sub, about)}`,
    },
    body: JSON.stringify({ request, allow }),
  })
  const { redirect_to: url, error_description: reason } = await response.json()
  if (url === undefined) throw new Error(reason)
  return url
}

/** Returns whom Drawbridge asks about at SESSION_URL; undefined if it is not Drawbridge that asks. */
export async function askedUser(authorization = '') {
  const options = { algorithms: ['HS256'], typ: 'drawbridge-session+jwt', audience: sessionUrl }
  const verified = await jwtVerify(authorization.replace(/^Bearer /, ''), key, options).catch(() => undefined)
  return verified?.payload.sub
}

/** Ends all connections of a user at once. */
export async function endConnections(sub) {
  const headers = { authorization: `Bearer ${await sign('end', sub)}` }
  const { status } = await fetch(`${door}/oauth/app/end`, { method: 'POST', headers })
  if (status !== 204) throw new Error(`Drawbridge answered ${status}.`)
}

const escape = (text) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** The page of SIGN_IN_URL. The click on it is the consent: never answer without it. `fields`: of the app's own form, already HTML. */
export function page({ sentences, scopes, error_description: fault }, request, fields = '') {
  if (fault !== undefined) return `<!doctype html><title>Connect</title><p>${escape(fault)}</p>`
  return `<!doctype html><meta name="viewport" content="width=device-width"><title>Connect</title>
${sentences.map((sentence) => `<p>${escape(sentence)}</p>`).join('')}
<ul>${scopes.map(({ text }) => `<li>${escape(text)}</li>`).join('')}</ul>
<form method="post">${fields}<input type="hidden" name="request" value="${escape(request)}">
<button name="allow" value="yes">Allow</button> <button name="allow" value="no">Deny</button></form>`
}

/** Keep other sites from showing the page in a frame, where a click on it would not be meant. */
export const pageHeaders = {
  'content-security-policy': "frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
}
