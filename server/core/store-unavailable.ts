/** The store cannot be used right now: it is down, full, read-only or overloaded. Nothing was lost by asking. */
export class StoreUnavailableError extends Error {
  constructor(message: string, options: { cause: unknown }) {
    super(message, options)
    this.name = 'StoreUnavailableError'
  }
}
