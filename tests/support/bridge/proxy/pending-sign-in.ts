import type { AuthorizationPrompt } from '../../../../bridge/http/http-client.ts'
import type { McpProxyPorts } from '../../../../bridge/proxy/proxy.ts'

/** Creates a sign-in whose outcome a test decides. `more` is what its prompt says besides the link. */
export function pendingSignIn(more: Pick<AuthorizationPrompt, 'unconfirmed'> = {}): {
  signIn: NonNullable<McpProxyPorts['signIn']>
  begun(): number
  succeed(): void
  fail(error: Error): void
} {
  let begun = 0
  let settle: { resolve(): void; reject(error: Error): void } = { resolve() {}, reject() {} }
  return {
    signIn() {
      begun += 1
      const done = new Promise<void>((resolve, reject) => {
        settle = { resolve, reject }
      })
      return {
        prompt: Promise.resolve({ kind: 'browser', url: `https://as.example/authorize?n=${begun}`, ...more }),
        done,
        cancel: () => settle.reject(new Error('cancelled')),
      }
    },
    begun: () => begun,
    succeed: () => settle.resolve(),
    fail: (error) => settle.reject(error),
  }
}
