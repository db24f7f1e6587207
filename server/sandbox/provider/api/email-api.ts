import { isCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { Hono } from 'hono'
import { z } from 'zod'
import type { Account } from '../accounts/account.ts'
import { AuthError } from '../auth-error.ts'
import { type AuthServices, type SessionBody, startSession } from '../auth-services.ts'
import { chooseRedirectTarget, magicLink } from '../social/social-flow.ts'
import { readJsonBody, text } from './json-body.ts'
import { describeError, withErrors } from './social-api.ts'

const maxMails = 100

/** Creates the routes for signing in with a mail, relative to the auth base URL. The mails are in `services`. */
export function createEmailApi(services: AuthServices): Hono {
  const api = new Hono()
  api.post('/otp', async (c) => {
    await sendCode(services, c.req.raw)
    return c.json({})
  })
  api.post('/verify', async (c) => c.json(await verifyCode(services, c.req.raw)))
  // For browsers, so failures are redirects.
  api.get('/verify', (c) => {
    const target = redirectTarget(services, c.req.raw)
    try {
      return c.redirect(openLink(services, target, c.req.query('token') ?? ''), 303)
    } catch (error) {
      if (!(error instanceof AuthError)) throw error
      const described = describeError(new AuthError(403, error.code, 'Email link is invalid or has expired'))
      return c.redirect(withErrors(target, described), 303)
    }
  })
  return api
}

function redirectTarget({ config }: AuthServices, request: Request): string {
  return chooseRedirectTarget(config, new URL(request.url).searchParams.get('redirect_to') ?? '')
}

async function sendCode(services: AuthServices, request: Request): Promise<void> {
  const { config, emailCodes, flows } = services
  const body = await readJsonBody(request, {
    email: text,
    create_user: z.boolean().nullish(),
    code_challenge: text,
  })
  if (body.email === '') throw new AuthError(400, 'validation_failed', 'One of email or phone must be set')
  const challenge = body.code_challenge
  if (challenge !== '' && !isCodeChallenge(challenge)) {
    throw new AuthError(400, 'validation_failed', 'code challenge has to be between 43 and 128 characters')
  }
  const account = addressee(services, body.email, body.create_user ?? true)
  emailCodes.requirePause(account.id)
  const redirectTo = redirectTarget(services, request)
  const flow =
    challenge === '' ? undefined : flows.start({ provider: magicLink, redirectTo, codeChallenge: challenge })
  const { code, token, sentAt } = emailCodes.issue(account.id, flow)
  const parameters = new URLSearchParams({ token, type: magicLink, redirect_to: redirectTo }).toString()
  // Without PKCE its link would put tokens into an address.
  const link = flow === undefined ? undefined : `${config.url}/verify?${parameters}`
  const subject = 'Your sign-in code'
  const mail = { to: account.email, subject, code, sentAt, ...(link !== undefined && { link }) }
  services.mails = [mail, ...services.mails].slice(0, maxMails)
}

function addressee({ accounts }: AuthServices, email: string, mayCreate: boolean): Account {
  const known = accounts.findByEmail(email)
  if (known) return known
  if (!mayCreate) throw new AuthError(422, 'otp_disabled', 'Signups not allowed for otp')
  return accounts.create({ kind: 'email', email, confirmed: false })
}

async function verifyCode(services: AuthServices, request: Request): Promise<SessionBody> {
  const { accounts, emailCodes } = services
  const { email, token } = await readJsonBody(request, { email: text, token: text })
  if (token === '') throw new AuthError(400, 'validation_failed', 'Verify requires a token')
  const account = accounts.findByEmail(email)
  // As in the real API, before the code is looked at.
  if (account) accounts.refuseBanned(account)
  const issued = emailCodes.redeem(({ accountId, code }) => accountId === account?.id && code === token)
  confirm(services, issued.accountId)
  return startSession(services, issued.accountId, 'otp')
}

/** Returns where the browser continues. */
function openLink(services: AuthServices, target: string, token: string): string {
  const { accounts, emailCodes, flows } = services
  const issued = emailCodes.redeem((candidate) => token !== '' && candidate.token === token)
  accounts.refuseBanned(accounts.get(issued.accountId))
  const flow = flows.find(issued.flow ?? '')
  if (!flow) throw new AuthError(403, 'otp_expired', 'the flow of the link is over')
  confirm(services, issued.accountId)
  const url = new URL(target)
  url.searchParams.append('code', flows.complete(flow, issued.accountId))
  return url.href
}

/** Reading the mail proves ownership of the address. */
function confirm({ accounts }: AuthServices, id: string): void {
  accounts.update(id, (account, now) => {
    account.confirmedAt ??= now
  })
}
