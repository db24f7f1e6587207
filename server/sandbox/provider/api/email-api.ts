import { createHash, randomInt } from 'node:crypto'
import { Hono } from 'hono'
import { z } from 'zod'
import type { Account } from '../accounts/account.ts'
import { AuthError } from '../auth-error.ts'
import { type AuthServices, type Mail, type SessionBody, startSession } from '../auth-services.ts'
import { chooseRedirectTarget, magicLink } from '../social/social-flow.ts'
import { readJsonBody, text } from './json-body.ts'
import { redirect } from './social-api.ts'

const maxMails = 100
const lifeSeconds = 3600
const pauseSeconds = 60

/** Creates the routes for signing in with a mail, relative to the auth base URL. The mails are in `services`. */
export function createEmailApi(services: AuthServices): Hono {
  const api = new Hono()
  api.post('/otp', async (c) => {
    const shape = { email: text, create_user: z.boolean().nullish(), code_challenge: text }
    const body = await readJsonBody(c.req.raw, shape)
    if (body.email === '') throw new AuthError(400, 'validation_failed', 'One of email or phone must be set')
    const account = addressee(services, body.email, body.create_user ?? true)
    send(services, account, body.code_challenge, c.req.query('redirect_to') ?? '')
    return c.json({})
  })
  api.post('/verify', async (c) => {
    const { email, token } = await readJsonBody(c.req.raw, { email: text, token: text })
    return c.json(await verifyCode(services, email, token))
  })
  // For browsers, so failures are redirects.
  api.get('/verify', (c) => {
    const { redirect_to: redirectTo = '', token = '' } = c.req.query()
    return redirect(c, chooseRedirectTarget(services.config, redirectTo), () => openLink(services, token))
  })
  return api
}

function addressee({ accounts }: AuthServices, email: string, mayCreate: boolean): Account {
  const known = accounts.findByEmail(email)
  if (known) return known
  if (!mayCreate) throw new AuthError(422, 'otp_disabled', 'Signups not allowed for otp')
  return accounts.create({ kind: 'email', email, confirmed: false })
}

/** Throws `over_email_send_rate_limit` within a minute of the account's last mail. */
function send(services: AuthServices, account: Account, codeChallenge: string, redirectTo: string): void {
  const { config, flows, mails, runtime } = services
  const { id: accountId, email: to } = account
  const sentAt = runtime.now()
  const left = (newestOf(mails, accountId)?.sentAt ?? -Infinity) + pauseSeconds - sentAt
  if (left > 0) {
    const message = `For security purposes, you can only request this after ${left} seconds.`
    throw new AuthError(429, 'over_email_send_rate_limit', message)
  }
  const flow =
    codeChallenge === '' ? undefined : flows.start({ provider: magicLink, redirectTo, codeChallenge })
  const code = String(randomInt(1_000_000)).padStart(6, '0')
  const digest = createHash('sha224').update(`${accountId} ${code}`).digest('hex')
  const token = flow === undefined ? digest : `pkce_${digest}`
  const mail: Mail = { accountId, to, subject: 'Your sign-in code', code, token, sentAt }
  // Without PKCE its link would put tokens into an address.
  if (flow) {
    const parameters = new URLSearchParams({ token, type: magicLink, redirect_to: flow.redirectTo })
    mail.link = `${config.url}/verify?${parameters.toString()}`
    mail.flow = flow.state
  }
  services.mails = [mail, ...mails].slice(0, maxMails)
}

function newestOf(mails: readonly Mail[], accountId: string): Mail | undefined {
  return mails.find((mail) => mail.accountId === accountId)
}

async function verifyCode(services: AuthServices, email: string, token: string): Promise<SessionBody> {
  const { accounts } = services
  if (token === '') throw new AuthError(400, 'validation_failed', 'Verify requires a token')
  const account = accounts.findByEmail(email)
  // As in the real API, before the code is looked at.
  if (account) accounts.refuseBanned(account)
  const { accountId } = redeem(services, (mail) => mail.accountId === account?.id && mail.code === token)
  return startSession(services, accountId, 'otp')
}

/** Returns where the browser continues. */
function openLink(services: AuthServices, token: string): string {
  const { accounts, flows } = services
  const mail = redeem(services, (candidate) => candidate.token === token)
  accounts.refuseBanned(accounts.get(mail.accountId))
  const flow = flows.find(mail.flow ?? '')
  if (flow) return flows.complete(flow, mail.accountId)
  throw new AuthError(403, 'otp_expired', 'Email link is invalid or has expired')
}

/**
 * Uses up the code and the link of a mail, and confirms its address: reading it proves ownership. As in the real API only those of
 * an account's newest mail count. Throws `otp_expired` for every other.
 */
function redeem({ accounts, mails, runtime }: AuthServices, isMeant: (mail: Mail) => boolean): Mail {
  const mail = mails.find(isMeant)
  const isGood = mail && mail === newestOf(mails, mail.accountId) && !mail.isUsed
  if (!isGood || runtime.now() >= mail.sentAt + lifeSeconds) {
    throw new AuthError(403, 'otp_expired', 'Token has expired or is invalid')
  }
  mail.isUsed = true
  accounts.update(mail.accountId, (account, now) => {
    account.confirmedAt ??= now
  })
  return mail
}
