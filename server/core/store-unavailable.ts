/** The store is currently unavailable: down, full, read-only or overloaded. Nothing was lost. */
export class StoreUnavailableError extends Error {
  constructor(message: string, options: { cause: unknown }) {
    super(message, options)
    this.name = 'StoreUnavailableError'
  }
}
