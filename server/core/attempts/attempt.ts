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
  /** Joins what other instances see of the same sign-in: {@link signInKey}. */
  signIn?: string | undefined
  grantId?: string | undefined
  /** Joined by address, program and time only. */
  probably?: boolean | undefined
}

/** One step as it is stored; `attempt` is common to what one instance joined. */
export interface StoredStep {
  attempt: string
  record: StepRecord
}

export interface AttemptStepStore {
  /** Adds steps in their order; they are deleted after `expiresAt`. */
  addAttemptSteps(steps: readonly StoredStep[], expiresAt: number): Promise<void>
  listAttemptSteps(limit: number): Promise<StoredStep[]>
}

export const attemptSeconds = 86_400
