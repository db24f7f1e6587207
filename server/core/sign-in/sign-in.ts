import { type CountedAttempt, countWithin, everyoneLimits, giveBack } from '../limits/attempt-limit.ts'
import { providerCalls } from '../limits/limit-table.ts'
import { accountOf } from './device-cookie.ts'
import { hashSecret } from '../seal.ts'
import {
  createPendingId,
  openPending,
  type PendingSocialSignIn,
  sealPending,
  type SignInPorts,
} from './pending-sign-in.ts'
import { afterFirstStep, type FirstStep } from './second-factor-step.ts'
import {
  type Captcha,
  ProviderError,
  type ProviderSession,
  type SignInStep,
} from '../session/session-provider.ts'
import {
  attemptAt,
  countOrRefuse,
  countSignInAttempt,
  giveBackUnjudged,
  judgeSignIn,
  type SignInVisitor,
} from './sign-in-limit.ts'
import { endUnusedSession, keepOrSignOut } from './sign-in-orphan.ts'
import type { SignInPurpose } from './sign-in-transaction.ts'

const socialTtlSeconds = 600
const maxSocialSignIns = 5

export const maxEmailLength = 320
const maxDomainLength = 253
const maxPasswordLength = 1024
const maxCaptchaTokenLength = 16_384

const pendingKind = 'social sign-in'

export interface PostedPassword {
  email: string
  password: string
  captchaToken: string | undefined
}

/** Rejects with {@link ProviderError}. What the provider would always refuse does not reach it and is not counted. */
export async function signInWithPassword(
  posted: PostedPassword,
  visitor: SignInVisitor,
  ports: SignInPorts,
): Promise<FirstStep> {
  const { provider } = ports
  const { password: offered, captcha } = await provider.capabilities()
  if (!offered || !provider.passwordSignIn) {
    throw new ProviderError('disabled', 'A password was posted, but password sign-in is not offered here.')
  }
  const email = posted.email.trim()
  if (!isOfLength(email, maxEmailLength) || !isOfLength(posted.password, maxPasswordLength)) {
    throw new ProviderError('invalid_credentials', 'Email or password is empty or too long.')
  }
  const captchaToken = checkedCaptcha(captcha, posted)
  const account = accountOf(email)
  const counted = await countSignInAttempt(attemptAt(account, visitor, provider.issuer), ports)
  const signingIn = provider.passwordSignIn.bind(provider, { email, password: posted.password, captchaToken })
  return afterFirstStep(await judgeSignIn(counted, signingIn, ports), account, visitor, ports)
}

function isOfLength(text: string, max: number): boolean {
  return text !== '' && text.length <= max
}

/** Returns the posted captcha response if the provider requires one. Rejects with `captcha` without it. */
export function checkedCaptcha(
  captcha: Captcha | undefined,
  { captchaToken = '' }: { captchaToken: string | undefined },
): string | undefined {
  if (!captcha) return undefined
  if (isOfLength(captchaToken, maxCaptchaTokenLength)) return captchaToken
  throw new ProviderError('captcha', 'The captcha response is empty or too long.')
}

/** Call it only after a click on the login page: nothing reaches the provider before consent (MCP security, confused deputy). */
export async function startSocialSignIn(
  purpose: SignInPurpose,
  method: string,
  visitor: SignInVisitor,
  ports: SignInPorts,
): Promise<string> {
  const { provider, callbackUrl } = ports
  const { social } = await provider.capabilities()
  if (!social.some(({ id }) => id === method)) {
    throw new ProviderError('disabled', 'A social method was posted that is not offered here.')
  }
  const isFresh = purpose.kind === 'account' && purpose.token !== undefined
  return leave(purpose, () => provider.socialStart({ method, callbackUrl, isFresh }), visitor, ports)
}

/** For the company of the posted address or domain. Rejects with `bad_domain` uncounted, and with `unknown_domain`, which counts. */
export async function startSsoSignIn(
  purpose: SignInPurpose,
  posted: { email: string; captchaToken: string | undefined },
  visitor: SignInVisitor,
  ports: SignInPorts,
): Promise<string> {
  const { provider, callbackUrl } = ports
  const { sso, captcha } = await provider.capabilities()
  const start = provider.ssoStart?.bind(provider)
  if (!sso || !start)
    throw new ProviderError('disabled', 'Single sign-on was posted, but is not offered here.')
  const domain = domainOf(posted.email)
  const captchaToken = checkedCaptcha(captcha, posted)
  const total = providerCalls(ports.limitPerMinute)
  const limits = everyoneLimits('single sign-on', total, visitor.knownAccounts.length > 0)
  await countOrRefuse(limits, 'single sign-ons', ports)
  return leave(purpose, () => start({ domain, callbackUrl, captchaToken }), visitor, ports)
}

function domainOf(posted: string): string {
  const domain = posted.trim().split('@').at(-1)?.toLowerCase() ?? ''
  if (domain.length <= maxDomainLength && /^[^\s./:?#]+(?:\.[^\s./:?#]+)+$/.test(domain)) return domain
  throw new ProviderError('bad_domain', 'The posted text has no domain in it.')
}

async function leave(
  purpose: SignInPurpose,
  start: () => Promise<{ url: string; secret: string; state?: string }>,
  visitor: SignInVisitor,
  ports: SignInPorts,
): Promise<string> {
  const counted = await countSignInAttempt(attemptAt(undefined, visitor, ports.provider.issuer), ports)
  try {
    const { url, secret, state: id } = await start()
    const of = { id, bindingHash: hashSecret(visitor.binding) }
    await keepSocialSignIn({ purpose, secret, counted }, of, ports)
    return url
  } catch (error) {
    await giveBackUnjudged(error, counted, ports)
    throw error
  }
}

/** Keeps what {@link finishSocialSignIn} needs when the browser returns within `seconds`; `id`: the return has it as `state`. */
export async function keepSocialSignIn(
  payload: SocialPayload,
  { id, bindingHash }: { id?: string | undefined; bindingHash: string },
  ports: SignInPorts,
  seconds: number = socialTtlSeconds,
): Promise<void> {
  const row = { id: id ?? createPendingId(ports.runtime), bindingHash }
  await ports.store.addSocialSignIn(sealPending(pendingKind, payload, row, seconds, ports), maxSocialSignIns)
}

/** Result of a return from the social provider; `purpose` is the sign-in's, if known. */
export type SocialReturn =
  | { kind: 'returned'; step: FirstStep; purpose: SignInPurpose }
  | { kind: 'refused'; failure: ProviderError; purpose: SignInPurpose | undefined }
  | { kind: 'expired' }

export interface SocialPayload {
  purpose: SignInPurpose
  secret: string
  /** Attempts given back when the sign-in succeeds. */
  counted: readonly CountedAttempt[]
}

/**
 * Completes a social sign-in from the parameters of the callback.
 *
 * The provider does not return our state, so the pending sign-in is found by its secret: the one whose verifier matches. A wrong
 * verifier does not consume the provider's code. The first code tried with a pending sign-in was counted when that started; each
 * further one counts as an attempt, as a browser with pending sign-ins can return with made-up codes any number of times.
 */
export async function finishSocialSignIn(
  parameters: URLSearchParams,
  visitor: SignInVisitor | undefined,
  ports: SignInPorts,
): Promise<SocialReturn> {
  const { store, provider, callbackUrl } = ports
  const candidates = await findPending(parameters, visitor, ports)
  if (visitor === undefined) return { kind: 'expired' }
  for (const [index, pending] of candidates.entries()) {
    const payload = openPending(pendingKind, pending, ports) as SocialPayload | undefined
    if (payload === undefined) continue
    const { purpose, secret, counted } = payload
    try {
      if (parameters.has('code')) await countReturn(pending.id, visitor, ports)
      const answer = await provider.socialFinish({ params: parameters, secret, callbackUrl })
      const first = await keepOrSignOut(sessionOf(answer), provider, () =>
        store.removeSocialSignIn(pending.id),
      )
      if (!first) {
        // The sign-in has expired or been replaced by newer ones: do not return the session.
        await endUnusedSession(sessionOf(answer), ports)
        return { kind: 'expired' }
      }
      await giveBack(counted, ports)
      return { kind: 'returned', step: await afterFirstStep(answer, undefined, visitor, ports), purpose }
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error
      // Another tab's code: try the next pending sign-in.
      if (error.failure === 'expired') continue
      // The tab is certain only when no other one is left. It stays pending either way: a link on another site can lead here with
      // an error, and must not cancel a sign-in.
      const certain = index === candidates.length - 1
      return { kind: 'refused', failure: error, purpose: certain ? purpose : undefined }
    }
  }
  return { kind: 'expired' }
}

/**
 * Finds the sign-ins that a return can belong to. One that began in another browser ends: a code that someone was led to must not wait
 * for whoever began (consent phishing, session fixation).
 */
async function findPending(
  parameters: URLSearchParams,
  visitor: SignInVisitor | undefined,
  { store, provider, runtime }: SignInPorts,
): Promise<readonly PendingSocialSignIn[]> {
  const pending = visitor ? await store.listSocialSignIns(hashSecret(visitor.binding), runtime.now()) : []
  const state = provider.appSignIn && parameters.get('state')
  if (typeof state !== 'string') return pending
  const own = pending.filter(({ id }) => id === state)
  if (own.length === 0) await store.removeSocialSignIn(state)
  return own
}

/** Does not limit the first return of each sign-in: otherwise the trip to the social provider would have been in vain. */
async function countReturn(id: string, visitor: SignInVisitor, ports: SignInPorts): Promise<void> {
  const first = { key: `social return ${id}`, max: 1, windowSeconds: socialTtlSeconds }
  if ((await countWithin([first], ports)).waitSeconds === 0) return
  await countSignInAttempt(attemptAt(undefined, visitor, ports.provider.issuer), ports)
}

function sessionOf(step: SignInStep): ProviderSession {
  return step.kind === 'signed_in' ? step.signIn.session : step.session
}
