import { execFileSync, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { findProgram } from '../support/find-program.ts'

const programs: readonly [program: string, apt: string][] = [
  ['dbus-run-session', 'dbus-daemon'],
  ['gnome-keyring-daemon', 'gnome-keyring'],
  ['gdbus', 'libglib2.0-bin'],
  ['secret-tool', 'libsecret-tools'],
  ['dbus-test-tool', 'dbus-tests'],
]

/** Returns the Debian packages missing for these tests; on other systems, one line that says so. */
export function missingPackages(): string[] {
  if (process.platform !== 'linux') return ['Linux']
  return programs.filter(([program]) => !findProgram(program)).map(([, apt]) => apt)
}

/** The secret service on the bus of a {@link KeyringSession}. */
export type SecretService = 'unlocked' | 'no-collection' | 'none' | 'mute'

/** A separate session bus with its own home. */
export interface KeyringSession {
  home: string
  /** A complete environment for child processes on this bus. */
  environment: Record<string, string>
  /** Locks the login keyring permanently. */
  lock(): void
  /** Returns the output of `secret-tool` for our entries. */
  search(): string
  run(program: string, ...args: string[]): string
  close(): Promise<void>
}

/** Starts a session. Rejects when the service does not start. */
export async function startKeyringSession(
  service: SecretService,
  more: Record<string, string> = {},
): Promise<KeyringSession> {
  const script = fileURLToPath(new URL('with-secret-service.sh', import.meta.url))
  const report = 'echo "$HOME|$XDG_RUNTIME_DIR|$DBUS_SESSION_BUS_ADDRESS"; cat >/dev/null'
  const session = spawn(script, ['sh', '-c', report], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...process.env, ...more, SECRET_SERVICE: service },
  })
  const ended = new Promise<void>((resolve) => session.on('exit', () => resolve()))
  const line = await new Promise<string>((resolve, reject) => {
    let text = ''
    session.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      if (text.includes('\n')) resolve(text.trim())
    })
    session.on('exit', (code) => reject(new Error(`no Secret Service (exit ${String(code)})`)))
  })
  const [home = '', runtimeFolder = '', address = ''] = line.split('|')
  const { DISPLAY: _x, WAYLAND_DISPLAY: _wayland, ...inherited } = process.env
  const environment = {
    ...(inherited as Record<string, string>),
    HOME: home,
    XDG_RUNTIME_DIR: runtimeFolder,
    DBUS_SESSION_BUS_ADDRESS: address,
  }
  const run = (program: string, ...args: string[]): string =>
    execFileSync(program, args, { env: environment, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  return {
    home,
    environment,
    run,
    lock() {
      const collection = '[objectpath "/org/freedesktop/secrets/collection/login"]'
      const to = ['--dest', 'org.freedesktop.secrets', '--object-path', '/org/freedesktop/secrets']
      run('gdbus', 'call', '--session', ...to, '--method', 'org.freedesktop.Secret.Service.Lock', collection)
    },
    search: () => run('secret-tool', 'search', '--all', 'service', 'drawbridge'),
    async close() {
      session.stdin.end()
      await ended
    },
  }
}
