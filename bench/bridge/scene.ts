import type { Bench } from '../bench.ts'
import { missingPackages, startKeyringSession } from '../../tests/keychain/session.ts'
import { atMost, type BarredFigure } from '../figure.ts'
import { type Attempts, createAttempts } from './attempts.ts'
import { type BenchRemote, startRemote } from './remote.ts'
import { type KeyPlace, signInDrawbridge, signInReference } from './sign-in.ts'
import { fixedTokenSubjects, openPrograms, openSubjects, signedIn, type Subject } from './subject.ts'

/**
 * Two servers, one of them guarded, and all bridges in front of both; those that can are signed in at the guarded
 * one.
 */
export interface Scene {
  open: readonly Subject[]
  guarded: readonly Subject[]
  /** The servers; the guarded one has a token for bridges with a fixed one. */
  remotes: { open: BenchRemote; guarded: BenchRemote }
  attempt: Attempts['attempt']
}

/**
 * Measures in a new scene. `keys` are the places for the keys of Drawbridge's logins: one bridge for each. The
 * figures include bridges that could not be prepared or failed, and any repeated sign-in.
 */
export async function inScene(
  bench: Bench,
  { area, keys }: { area: string; keys: readonly KeyPlace['kind'][] },
  measure: (scene: Scene) => Promise<BarredFigure[]>,
): Promise<BarredFigure[]> {
  const { attempt, failures } = createAttempts(bench.say)
  const programs = openPrograms(bench)
  const remotes = { open: await startRemote(bench, 'open'), guarded: await startRemote(bench, 'guarded') }
  const endings = [remotes.open.child.stop, remotes.guarded.child.stop]
  try {
    const logins: Subject[] = []
    for (const kind of keys) {
      await attempt(signedIn[kind], async () => {
        const environment = kind === 'keychain' ? await openKeychain(endings) : {}
        logins.push(await signInDrawbridge(bench, programs, remotes.guarded, { kind, environment }))
      })
    }
    await attempt(signedIn.reference, async () => {
      logins.push(await signInReference(bench, programs, remotes.guarded))
    })
    const before = await remotes.guarded.setDelay(0)
    const figures = await measure({
      open: openSubjects(bench, programs, remotes.open),
      guarded: [...logins, ...fixedTokenSubjects(bench, programs, remotes.guarded)],
      remotes,
      attempt,
    })
    const after = await remotes.guarded.setDelay(0)
    const value = after.codeGrants - before.codeGrants + after.refreshes - before.refreshes
    return [
      ...figures,
      ...failures(area),
      atMost(0, { area, name: 'sign-ins and refreshes while it was measured', value, unit: '' }),
    ]
  } finally {
    await Promise.all(endings.map((end) => end()))
  }
}

/**
 * Starts an unlocked keychain on a separate bus, and returns the environment to reach it. Throws when programs are
 * missing.
 */
async function openKeychain(endings: (() => Promise<void>)[]): Promise<KeyPlace['environment']> {
  const missing = missingPackages()
  if (missing.length > 0) throw new Error(`The keychain needs: apt-get install ${missing.join(' ')}`)
  const { environment, close } = await startKeyringSession('unlocked')
  endings.push(close)
  const { DBUS_SESSION_BUS_ADDRESS = '', XDG_RUNTIME_DIR = '' } = environment
  return { DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR }
}
