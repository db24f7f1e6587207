import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { goProgram } from './go-program.ts'

/** A client of the Go SDK in its own process. */
export interface GoClient {
  /** Calls a tool, signing in whenever it asks. Returns how often that was, and the text or the error. */
  call(tool: string): Promise<{ signIns: number; text?: string; failed?: string }>
  close(): Promise<void>
}

/** How {@link startGoClient} signs in. */
interface GoSignIn {
  /** Client id; by default the client registers itself. */
  id?: string
  /** Opens an authorization request and returns the final redirect. */
  allow(authorizationUrl: URL): Promise<URL>
}

/** Starts a {@link GoClient} of the MCP server at an address. The program must be built. */
export function startGoClient(url: string, { id = '', allow }: GoSignIn): GoClient {
  const program = goProgram(fileURLToPath(new URL('go-server/', import.meta.url)))
  const child = spawn(program, ['-client', url, '-client-id', id])
  child.stderr.pipe(process.stderr)
  const ended = once(child, 'close')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async call(tool) {
      child.stdin.write(`${tool}\n`)
      for (let signIns = 0; ; signIns += 1) {
        const line = await lines.next()
        if (line.done === true) throw new Error('The Go client ended.')
        const said = JSON.parse(line.value) as { authorize?: string; text?: string; failed?: string }
        if (said.authorize === undefined) return { signIns, ...said }
        child.stdin.write(`${(await allow(new URL(said.authorize))).href}\n`)
      }
    },
    async close() {
      child.stdin.end()
      await ended
    },
  }
}
