import { readTextsFiles } from '../config/document-file.ts'
import { valueOr } from '../core/document.ts'
import { OperatorRefusal } from '../core/operator/operation.ts'
import { Languages, languageTag } from '../texts/languages.ts'
import { type CommandInput, type ExitCode, exitCode, readConfig } from './command.ts'
import { printFacts } from './terminal.ts'

/** Prints the texts of a language as a file of TEXTS has them. A language without texts gets the English ones, to translate. */
export async function printTexts(input: CommandInput, given = 'en'): Promise<ExitCode> {
  const languages = new Languages(valueOr(readTextsFiles(readConfig(input, ['texts'])), []))
  const language = languageTag(given)
  if (language === undefined) {
    throw new OperatorRefusal(
      400,
      `Not a language tag: ${JSON.stringify(given)}.`,
      `Name a language, such as fr or pt-BR. There are texts in: ${languages.tags.join(', ')}.`,
    )
  }
  const { tag, texts } = languages.choose(language, null)
  const file = { language, texts }
  printFacts(input, file, JSON.stringify(file, undefined, 2))
  if (languages.find(language) === undefined) {
    input.terminal.note(`No texts in ${language} yet: this is the ${tag} file to translate.`)
  }
  return exitCode.ok
}
