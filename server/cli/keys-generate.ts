import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type CommandInput, type ExitCode, exitCode } from './command.ts'

/** Prints one new entry of a key ring, which is a secret: this is the only command that shows one. */
export async function generateKey({ json, runtime, terminal }: CommandInput): Promise<ExitCode> {
  const { kid, entry } = createKeyEntry(runtime)
  terminal.print(json ? JSON.stringify({ kid, entry }) : entry)
  return exitCode.ok
}

/** A fresh key with a name of its own, which begins with the date: `kid:base64`. */
export function createKeyEntry(runtime: Pick<Runtime, 'now' | 'randomBytes'>): {
  kid: string
  entry: string
} {
  const date = new Date(runtime.now() * 1000).toISOString().slice(0, 10).replaceAll('-', '')
  const kid = `k${date}-${Buffer.from(runtime.randomBytes(3)).toString('hex')}`
  return { kid, entry: `${kid}:${Buffer.from(runtime.randomBytes(32)).toString('base64')}` }
}
