/** Names of our own variables, and names that say that the value is secret. */
const secretName = /^DRAWBRIDGE_|SECRET|TOKEN|PASSW|CREDENTIAL|API_?KEY|PRIVATE_?KEY/i

/** Programs do not run well without these, and nobody keeps a secret in them. */
const publicName =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|TERM|TMPDIR|DISPLAY|BROWSER|XDG_.*|USERPROFILE|APPDATA)$/i

/**
 * Whether the value of an environment variable is to be kept from other programs: by its name, or because it is among
 * `secretVariables`. What has a harmless name and is not among them counts as no secret.
 */
export function isSecretVariable(name: string, secretVariables: ReadonlySet<string> = new Set()): boolean {
  return !publicName.test(name) && (secretName.test(name) || secretVariables.has(name))
}

/** A copy of an environment without the variables of {@link isSecretVariable}, and without those that are not set. */
export function withoutSecrets(
  environment: Readonly<Record<string, string | undefined>>,
  secretVariables?: ReadonlySet<string>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && !isSecretVariable(entry[0], secretVariables),
    ),
  )
}
