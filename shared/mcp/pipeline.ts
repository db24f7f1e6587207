import type { WireMessage } from './json-rpc.ts'

/** Travels with a message. `Message` is the form of the messages that come back. */
export interface Context<Message = WireMessage> {
  /** Aborted when the answer is no longer needed. In 2026-07-28 this cancels the request at the server. */
  readonly signal?: AbortSignal
  /**
   * Receives each message that comes back for this one, in order; the response is the last. While the promise is pending, nothing
   * more is read from the connection.
   */
  readonly deliver: (message: Message) => void | Promise<void>
}

/**
 * Sends one message. Resolves when the round trip is over: the response was delivered, or a notification or response was
 * accepted. Rejects without having delivered a response.
 */
export type Send<C extends Context<never> = Context, Message = WireMessage> = (
  message: Message,
  context: C,
) => Promise<void>

/** One concern of a message on its way. Passes it on with `next`, answers it through the context, or rejects. */
export interface Step<C extends Context<never> = Context, Message = WireMessage> {
  send(message: Message, context: C, next: Send<C, Message>): Promise<void>
}

/** Joins the steps, in order, into one function that ends with `last`. */
export function pipeline<C extends Context<never>, Message = WireMessage>(
  steps: readonly Step<C, Message>[],
  last: Send<C, Message>,
): Send<C, Message> {
  return steps.reduceRight<Send<C, Message>>(
    (next, step) => (message, context) => step.send(message, context, next),
    last,
  )
}

/** Returns a context that passes every message to `take`, which decides whether to deliver it. */
export function intercepted<C extends Context<Message>, Message = WireMessage>(
  context: C,
  take: (message: Message, deliver: Context<Message>['deliver']) => void | Promise<void>,
): C {
  return { ...context, deliver: (message: Message) => take(message, context.deliver) }
}

/** The context of a message whose responses are ignored. */
export const discarding: Context = { deliver: () => {} }
