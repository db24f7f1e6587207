import type { AttemptStep } from '@drawbridge/shared/attempt-step.ts'

/** One step as it was seen. No secret and no email address is part of it. */
export interface StepRecord {
  step: AttemptStep
  /** Epoch seconds. */
  at: number
  status: number
  ok: boolean
  requestId: string
  /** Why it failed, or what is awaited: a word of the error table, an OAuth error code, a provider failure. */
  detail?: string | undefined
  userAgent?: string | undefined
  /** The network of the address: a /24 or /48. */
  network?: string | undefined
  clientId?: string | undefined
  /** Derived alike by every instance: {@link signInKey}. */
  signIn?: string | undefined
  grantId?: string | undefined
}

/** The facts of an event about a connecting client. */
export interface EventMeaning {
  shows?: 'call' | 'client' | 'code_entered' | 'signed_in' | 'token' | 'waits' | undefined
  /** A request was refused: the field with the reason, or true if the event's name is the reason. */
  refusal?: string | true | undefined
}

export interface AttemptStepStore {
  /** Adds steps in their order; they are deleted after `expiresAt`. */
  addAttemptSteps(steps: readonly StepRecord[], expiresAt: number): Promise<void>
  /** Returns the newest steps, newest first. */
  listAttemptSteps(limit: number): Promise<StepRecord[]>
}

export const attemptSeconds = 86_400

/** Returns what proves to which attempt a step belongs, the surest first; empty before its client is known. */
export function keysOf({
  grantId,
  signIn,
  clientId,
}: Pick<StepRecord, 'grantId' | 'signIn' | 'clientId'>): string[] {
  const keys: string[] = []
  if (grantId !== undefined) keys.push(`grant ${grantId}`)
  if (signIn !== undefined) keys.push(`sign-in ${signIn}`)
  if (clientId !== undefined) keys.push(`client ${clientId}`)
  return keys
}

/** Returns the key of the requests of one program from one network that name no client. */
export function sourceKey({ network, userAgent }: Pick<StepRecord, 'network' | 'userAgent'>): string {
  return `from ${network} ${userAgent}`
}
