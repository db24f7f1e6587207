import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import {
  addressLimits,
  type AttemptLimit,
  type CountedAttempt,
  everyoneLimits,
  giveBack,
  limitKey,
  refundable,
} from '../limits/attempt-limit.ts'
import {
  emailCodesOfDay,
  emailPause,
  emailSends,
  emailSendsOfAccount,
  providerCalls,
} from '../limits/limit-table.ts'
import { hashSecret } from '../seal.ts'
import { ProviderError, type ProviderFailure, type SessionProvider } from '../session/session-provider.ts'
import { accountOf } from './device-cookie.ts'
import { afterFirstStep, type FirstStep } from './second-factor-step.ts'
import type { SignInPorts } from './pending-sign-in.ts'
import { checkedCaptcha, keepSocialSignIn, maxEmailLength } from './sign-in.ts'
import {
  attemptAt,
  countOrRefuse,
  countSignInAttempt,
  judgeSignIn,
  signInLimits,
  type SignInVisitor,
} from './sign-in-limit.ts'
import type { EmailPrompt, SignInPurpose } from './sign-in-transaction.ts'

const pauseKind = `${emailSends.kind} pause`
const codeSeconds = 3600
const maxWrongCodes = 5

export interface EmailRequested {
  prompt: EmailPrompt
  /** Resolves when the provider has answered, with what went wrong. Rejects if the store fails. */
  sent: Promise<EmailFailure | undefined>
}

interface EmailFailure {
  error: ProviderError
  /** It is the same for every address, so it may be shown. Any other failure would reveal which addresses have an account. */
  isForAll: boolean
}

// Failures that concern one account: GoTrue pauses a minute between its mails.
const ofAccount: ReadonlySet<ProviderFailure> = new Set(['invalid_credentials', 'mail_limited'])
// Failures of the request, found before the account is looked up.
const ofRequest: ReadonlySet<ProviderFailure> = new Set(['captcha', 'bad_email', 'rate_limited'])

/**
 * Asks the provider for a mail with a code or a link, without waiting for its answer: a provider that sends the mail first takes
 * seconds for an address with an account, and no time for others. Resolves alike with or without an account. Rejects with
 * {@link ProviderError}: `bad_email`, `captcha`, `mail_pause`, `mail_limited`, `rate_limited`, or when the provider cannot be asked.
 *
 * Limits: one mail a minute and five an hour to an email address, counted separately for each browser that has signed in to it; ten an
 * hour from one IP address; a total; and the limits of every sign-in. All are counted before anything is sent, and given back if the
 * provider refused for all addresses alike or, except for the pause, once the mail is used.
 */
export async function requestEmail(
  posted: { email: string; captchaToken: string | undefined },
  purpose: SignInPurpose,
  visitor: SignInVisitor,
  ports: SignInPorts,
): Promise<EmailRequested> {
  const { provider, runtime, callbackUrl, background } = ports
  const { email, captchaToken, method, send } = await checkedRequest(posted, provider)
  const mail = await countMail(accountOf(email), visitor, ports)
  // Requesting a mail is not a guess. Given back for every address, so that the remaining count reveals no account.
  await giveBack(await countSignInAttempt(attemptAt(undefined, visitor, provider.issuer), ports), ports)
  const counted = mail.filter(({ key }) => !key.startsWith(pauseKind))
  const prompt = { id: encodeBase64url(runtime.randomBytes(16)), email, sentAt: runtime.now(), counted }
  const sent = sendEmail()
  background.add(sent)
  return { prompt, sent }

  async function sendEmail(): Promise<EmailFailure | undefined> {
    const answer = await send({ email, callbackUrl, captchaToken }).catch(orProviderError)
    const failed =
      answer instanceof ProviderError
        ? { error: answer, isForAll: await isForAll(answer, provider) }
        : undefined
    if (failed?.isForAll) {
      await giveBack(mail, ports)
    } else if (method !== 'code') {
      // Without a mail too: a browser keeps a few pending sign-ins, and a new one takes the place of the oldest.
      const secret = 'secret' in answer ? answer.secret : encodeBase64url(runtime.randomBytes(32))
      const of = { bindingHash: hashSecret(visitor.binding) }
      await keepSocialSignIn({ purpose, secret, counted }, of, ports, codeSeconds)
    }
    return failed
  }
}

function orProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error
  throw error
}

/** Decides whether any address would have failed. An unclear failure counts as one account's, unless the provider is down. */
async function isForAll({ failure }: ProviderError, provider: SessionProvider): Promise<boolean> {
  if (ofAccount.has(failure) || ofRequest.has(failure)) return ofRequest.has(failure)
  try {
    await provider.ping()
    return false
  } catch (error) {
    orProviderError(error)
    return true
  }
}

async function checkedRequest(
  posted: { email: string; captchaToken: string | undefined },
  provider: SessionProvider,
) {
  const { email: method, captcha } = await provider.capabilities()
  const send = provider.emailStart?.bind(provider)
  if (method === undefined || !send)
    throw new ProviderError('disabled', 'A mail was asked for, but is not offered here.')
  const email = posted.email.trim()
  if (email.length > maxEmailLength || !/^[^\s@]+@[^\s@]+$/.test(email))
    throw new ProviderError('bad_email', 'The posted text is not an email address.')
  return { email, captchaToken: checkedCaptcha(captcha, posted), method, send }
}

/** Seconds until another mail may be asked for. */
export function emailWaitSeconds({ sentAt }: EmailPrompt, now: number): number {
  return Math.max(0, sentAt + emailPause.windowSeconds - now)
}

function countMail(
  email: string,
  visitor: SignInVisitor,
  ports: SignInPorts,
): Promise<readonly CountedAttempt[]> {
  const { kind, perAddress, maxPerSite } = emailSends
  const { address, account = email, trusted } = attemptAt(email, visitor, ports.provider.issuer)
  const guesses: AttemptLimit[] = [
    { key: limitKey(pauseKind, account), ...emailPause },
    ...addressLimits(kind, perAddress, address, maxPerSite),
    { key: limitKey(`${kind} account`, account), ...emailSendsOfAccount },
  ]
  const total = everyoneLimits(kind, providerCalls(ports.limitPerMinute), trusted)
  return countOrRefuse([...guesses.map(refundable), ...total], 'mails', ports, (reached) =>
    reached.startsWith(pauseKind) ? 'mail_pause' : 'mail_limited',
  )
}

export type EmailCodeResult =
  | { kind: 'step'; step: FirstStep }
  /** `codesLeft` is undefined if the code was not checked. */
  | { kind: 'again'; failure: ProviderError; codesLeft: number | undefined }
  | { kind: 'over' }

// The code was not judged, and may be posted again.
const unjudged: ReadonlySet<ProviderFailure> = new Set(['rate_limited', 'transient', 'protocol'])

/** Five wrong codes end the sign-in, also posted at once. Rejects with {@link ProviderError} for an account that may not sign in. */
export async function tryEmailCode(
  posted: string,
  { id, email, sentAt, counted: mail }: EmailPrompt,
  visitor: SignInVisitor,
  ports: SignInPorts,
): Promise<EmailCodeResult> {
  const { provider, runtime, store } = ports
  const code = posted.replaceAll(/\s/g, '')
  if (!provider.emailVerify || runtime.now() >= sentAt + codeSeconds) return { kind: 'over' }
  if (!/^\d{6,10}$/.test(code)) {
    const failure = new ProviderError('wrong_code', 'The posted code is not six to ten digits.')
    return { kind: 'again', failure, codesLeft: undefined }
  }
  const key = `email code ${id}`
  const { count, windowEndsAt } = await store.countAttempt(key, codeSeconds, runtime.now())
  if (count > maxWrongCodes) return { kind: 'over' }
  try {
    const account = accountOf(email)
    const counted = await countCode(account, visitor, ports)
    const step = await judgeSignIn(counted, provider.emailVerify.bind(provider, { email, code }), ports)
    await giveBack(mail, ports)
    return { kind: 'step', step: await afterFirstStep(step, account, visitor, ports) }
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    if (error.failure === 'wrong_code')
      return count < maxWrongCodes
        ? { kind: 'again', failure: error, codesLeft: maxWrongCodes - count }
        : { kind: 'over' }
    await giveBack([{ key, windowEndsAt }], ports)
    if (unjudged.has(error.failure)) return { kind: 'again', failure: error, codesLeft: undefined }
    throw error
  }
}

function countCode(
  account: string,
  visitor: SignInVisitor,
  ports: SignInPorts,
): Promise<readonly CountedAttempt[]> {
  const attempt = attemptAt(account, visitor, ports.provider.issuer)
  const kind = 'mailed code'
  const ofDay = { key: limitKey(`${kind} day`, attempt.account ?? account), ...emailCodesOfDay }
  const total = everyoneLimits(kind, providerCalls(ports.limitPerMinute), attempt.trusted)
  return countOrRefuse(
    [refundable(ofDay), ...signInLimits(attempt, ports.limitPerMinute), ...total],
    'mailed codes',
    ports,
  )
}
