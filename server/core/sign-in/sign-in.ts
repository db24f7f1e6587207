import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type CountedAttempt, countWithin, giveBack } from '../access/attempt-limit.ts'
import { accountOf } from './device-cookie.ts'
import { hashSecret, type Sealer } from '../seal.ts'
import type { PendingSocialSignIn, SecondFactorStore, SocialSignInStore } from './pending-sign-in.ts'
import { afterFirstStep, type FirstStep } from './second-factor-step.ts'
import {
  ProviderError,
  type ProviderSession,
  type SessionProvider,
  type SignInStep,
} from '../session/session-provider.ts'
import {
  attemptAt,
  countSignInAttempt,
  judgeSignIn,
  type SignInLimitPorts,
  type SignInVisitor,
} from './sign-in-limit.ts'
import { endUnusedSession, keepOrSignOut } from './sign-in-orphan.ts'
import { readPurpose, type SignInPurpose } from './sign-in-transaction.ts'

const socialTtlSeconds = 600
/** Open tabs of one browser that may be at the social provider at the same time. */
const maxSocialSignIns = 5

const maxEmailLength = 320
const maxPasswordLength = 1024
const maxCaptchaTokenLength = 16_384

/** What signing in needs from outside. */
export interface SignInPorts extends SignInLimitPorts {
  store: SocialSignInStore & SecondFactorStore & SignInLimitPorts['store']
  provider: SessionProvider
  sealer: Sealer
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'sleep'>
  callbackUrl: string
}

/** What the password form posted, as it came. */
export interface PostedPassword {
  email: string
  password: string
  captchaToken: string | undefined
}

/**
 * The first step with email and password. Rejects with {@link ProviderError}; what the provider would refuse in any
 * case (no password, no captcha response) does not reach it and is not counted.
 */
export async function signInWithPassword(
  posted: PostedPassword,
  visitor: SignInVisitor,
  ports: SignInPorts,
): Promise<FirstStep> {
  const { provider } = ports
  const { password: offered, captcha } = await provider.capabilities()
  if (!offered || !provider.passwordSignIn) {
    throw new ProviderError('disabled', 'A password was posted, and none is taken here.')
  }
  const email = posted.email.trim()
  if (!isOfLength(email, maxEmailLength) || !isOfLength(posted.password, maxPasswordLength)) {
    throw new ProviderError('invalid_credentials', 'Email or password is empty or too long.')
  }
  const captchaToken = captcha ? posted.captchaToken : undefined
  if (captcha && !isOfLength(captchaToken ?? '', maxCaptchaTokenLength)) {
    throw new ProviderError('captcha', 'The captcha response is empty or too long.')
  }
  const account = accountOf(email)
  const counted = await countSignInAttempt(attemptAt(account, visitor, provider.issuer), ports)
  const signingIn = provider.passwordSignIn.bind(provider, { email, password: posted.password, captchaToken })
  return afterFirstStep(await judgeSignIn(counted, signingIn, ports), account, visitor, ports)
}

function isOfLength(text: string, max: number): boolean {
  return text !== '' && text.length <= max
}

/**
 * Begins a social sign-in and answers the URL that the browser goes to. Only called after the user's click on the
 * login page, so nothing reaches the provider before consent (MCP security best practices, confused deputy).
 */
export async function startSocialSignIn(
  purpose: SignInPurpose,
  method: string,
  visitor: SignInVisitor,
  ports: SignInPorts,
): Promise<string> {
  const { provider, store, sealer, runtime, callbackUrl } = ports
  const { social } = await provider.capabilities()
  if (!social.some(({ id }) => id === method)) {
    throw new ProviderError('disabled', 'A social method was posted that is not offered here.')
  }
  const counted = await countSignInAttempt(attemptAt(undefined, visitor, provider.issuer), ports)
  const { url, secret } = await provider.socialStart({ method, callbackUrl })
  const row = { id: encodeBase64url(runtime.randomBytes(16)), bindingHash: hashSecret(visitor.binding) }
  const pending = {
    ...row,
    sealed: sealer.seal(JSON.stringify({ purpose, secret, counted } satisfies SocialPayload), contextOf(row)),
    expiresAt: runtime.now() + socialTtlSeconds,
  }
  await store.addSocialSignIn(pending, maxSocialSignIns)
  return url
}

/** How a return from the social provider ended; `purpose` is what that sign-in was begun for, if known. */
export type SocialReturn =
  | { kind: 'returned'; step: FirstStep; purpose: SignInPurpose }
  | { kind: 'refused'; failure: ProviderError; purpose: SignInPurpose | undefined }
  | { kind: 'expired' }

interface SocialPayload {
  purpose: SignInPurpose
  secret: string
  /** What a sign-in that succeeds gives back. */
  counted: readonly CountedAttempt[]
}

/**
 * Completes a social sign-in from the parameters of the callback.
 *
 * The provider sends no state of ours back, so which of the browser's pending sign-ins this is comes out of their
 * secrets: the one whose verifier fits. A wrong one does not use the provider's code up. The first code that is tried
 * with a pending sign-in was counted when that began; each further one counts as an attempt, as whoever has sign-ins
 * pending can come back with made-up codes as often as they like.
 */
export async function finishSocialSignIn(
  parameters: URLSearchParams,
  visitor: SignInVisitor | undefined,
  ports: SignInPorts,
): Promise<SocialReturn> {
  const { store, provider, runtime, callbackUrl } = ports
  if (visitor === undefined) return { kind: 'expired' }
  const candidates = await store.listSocialSignIns(hashSecret(visitor.binding), runtime.now())
  for (const [index, pending] of candidates.entries()) {
    const payload = openPayload(pending, ports)
    if (payload === undefined) continue
    const { purpose, secret, counted } = payload
    try {
      if (parameters.has('code')) await countReturn(pending, visitor, ports)
      const answer = await provider.socialFinish({ params: parameters, secret, callbackUrl })
      const first = await keepOrSignOut(sessionOf(answer), provider, () =>
        store.removeSocialSignIn(pending.id),
      )
      if (!first) {
        // The sign-in expired meanwhile, or newer ones replaced it: the session is not handed out.
        await endUnusedSession(sessionOf(answer), ports)
        return { kind: 'expired' }
      }
      await giveBack(counted, ports)
      return { kind: 'returned', step: await afterFirstStep(answer, undefined, visitor, ports), purpose }
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error
      // Not this one's code: try the next of the browser's tabs.
      if (error.failure === 'expired') continue
      // Which tab this belongs to is only certain when no other one is left. It stays pending either way: a link on
      // another site can lead here with an error, and must not cancel a sign-in.
      const certain = index === candidates.length - 1
      return { kind: 'refused', failure: error, purpose: certain ? purpose : undefined }
    }
  }
  return { kind: 'expired' }
}

/**
 * The first return of each sign-in passes without a limit: otherwise the trip to the social provider would have been
 * in vain.
 */
async function countReturn(
  { id }: PendingSocialSignIn,
  visitor: SignInVisitor,
  ports: SignInPorts,
): Promise<void> {
  const first = { key: `social return ${id}`, max: 1, windowSeconds: socialTtlSeconds }
  if ((await countWithin([first], ports)).waitSeconds === 0) return
  await countSignInAttempt(attemptAt(undefined, visitor, ports.provider.issuer), ports)
}

/** Undefined when no key of the ring opens it, or another version of this server sealed it. */
function openPayload(
  pending: PendingSocialSignIn,
  { sealer }: Pick<SignInPorts, 'sealer'>,
): SocialPayload | undefined {
  const opened = sealer.open(pending.sealed, contextOf(pending))
  const { purpose, secret, counted = [] } = JSON.parse(opened ?? '{}') as Partial<SocialPayload>
  const known = readPurpose(purpose)
  return known && secret !== undefined ? { purpose: known, secret, counted } : undefined
}

function contextOf({ id, bindingHash }: Pick<PendingSocialSignIn, 'id' | 'bindingHash'>): string {
  return `drawbridge social sign-in ${id} ${bindingHash}`
}

function sessionOf(step: SignInStep): ProviderSession {
  return step.kind === 'signed_in' ? step.signIn.session : step.session
}
