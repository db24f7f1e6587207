import { InstallError, type InstallFault } from '../../install/install-error.ts'
import type { Terminal } from '../terminal/output.ts'
import { CommandFailure, exitCode } from '../failure/command-failure.ts'
import { applyPlan } from '../../install/apply-plan.ts'
import { shownPath } from '../../install/config-file.ts'
import { confirmed } from '../terminal/progress.ts'
import type { Plan } from '../../install/plan-install.ts'
import type { CommandInput } from '../command.ts'

const wrongCommandLine: ReadonlySet<InstallFault> = new Set(['usage', 'secret'])

/** Runs a command. If it fails, prints what can be pasted by hand. */
export async function withInstallFailure<T>(terminal: Terminal, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof InstallError)) throw error
    if (error.snippet !== undefined) terminal.note(`To paste by hand:\n\n${error.snippet}\n`)
    throw new CommandFailure(error.message, error.nextStep, {
      exit: wrongCommandLine.has(error.fault) ? exitCode.usage : exitCode.failed,
      cause: error,
    })
  }
}

/** Answers to the confirmation, from the command line. */
export interface Agreement {
  /** Only show what would be done. */
  dryRun: boolean
  /** Do not ask. It does not agree to the loss of an entry of somebody else. */
  yes: boolean
  /** Agrees to everything. */
  force: boolean
}

export type Outcome =
  | { did: 'unchanged' | 'planned' | 'declined'; backup: undefined }
  | { did: 'added' | 'updated' | 'replaced' | 'removed'; backup: string | undefined }

const done = { add: 'added', update: 'updated', replace: 'replaced', remove: 'removed' } as const

/**
 * Shows a plan and carries it out once the user agrees. Without a terminal it does not ask: a script means it, the file is
 * backed up, and only our own entry changes. Another entry of the name is replaced with `force` only.
 */
export async function writePlan(
  plan: Plan,
  agreement: Agreement,
  { terminal, json, runtime }: Pick<CommandInput, 'terminal' | 'json' | 'runtime'>,
): Promise<Outcome> {
  const { change, file, diff } = plan
  if (change === 'same') return { did: 'unchanged', backup: undefined }
  const show = agreement.dryRun && !json ? terminal.print : terminal.note
  if (!(json && !terminal.isInteractive)) show(`${shownPath(file)}\n${diff}`)
  if (agreement.dryRun) return { did: 'planned', backup: undefined }
  if (!(await isAgreed(plan, agreement, terminal))) return { did: 'declined', backup: undefined }
  return { did: done[change], backup: applyPlan(plan, runtime.now()).backup }
}

async function isAgreed(
  { change, file, name }: Plan,
  { force, yes }: Agreement,
  terminal: CommandInput['terminal'],
): Promise<boolean> {
  const isReplacement = change === 'replace'
  if (force || (yes && !isReplacement)) return true
  if (terminal.isInteractive) {
    const question = isReplacement
      ? `Another entry is called ${JSON.stringify(name)}. Replace it?`
      : 'Write that?'
    return confirmed(question, !isReplacement, terminal)
  }
  if (!isReplacement) return true
  throw new InstallError(
    'taken',
    `Another entry of ${file.path} is called ${JSON.stringify(name)}.`,
    'Give another name with --name, or --force to replace it.',
  )
}

export function backupText(backup: string, project: boolean): string {
  const text = `The file as it was is ${backup}.`
  return project
    ? `${text} It lies in the project: delete it before you commit, as it may hold secrets.`
    : text
}
