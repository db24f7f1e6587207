import type { ProfileForm } from '../../core/settings/settings-view.ts'
import type { ProfileDraft, ProfileField } from '../../core/settings/profile-form.ts'
import { messagePart, type Translate } from '../message.ts'
import { type Contents, setOpen } from '../slot.ts'

const fields: readonly ProfileField[] = ['appUrl', 'baseUrl', 'label', 'cookieName']

/** Creates the dialog below `root`. Its texts are in `formContents`. */
export function createProfileDialog(root: HTMLElement) {
  const dialog = root.querySelector('#form') as HTMLDialogElement
  const inputs = new Map(fields.map((field) => [field, root.querySelector(`#${field}`) as HTMLInputElement]))
  let shown: ProfileForm | undefined

  /** Opens the dialog, or closes it without a form. */
  const show = (form: ProfileForm | undefined): void => {
    for (const [field, input] of inputs) {
      // Keep edits made since, unless the field gets a new value.
      const value = form?.draft[field] ?? ''
      if (value !== shown?.draft[field]) input.value = value
      input.ariaInvalid = String(form?.faults[field] !== undefined)
    }
    setOpen(dialog, form !== undefined)
    if (form && form.faults !== shown?.faults) {
      const faulty = fields.find((field) => form.faults[field] !== undefined)
      if (faulty) inputs.get(faulty)?.focus()
    }
    shown = form
  }

  return {
    /** Returns the current content of the fields. */
    draft(): ProfileDraft {
      const entries = [...inputs].map(([field, input]) => [field, input.value])
      return { id: shown?.draft.id ?? '', ...Object.fromEntries(entries) } as ProfileDraft
    },
    show,
  }
}

/** Returns the texts of the form: its title, and the faults of fields. */
export function formContents(form: ProfileForm | undefined, translate: Translate): Contents {
  if (form === undefined) return {}
  const faults = fields.map((field) => {
    const fault = form.faults[field]
    return [`fault-${field}`, fault && translate(`fault_${messagePart(fault)}`)] as const
  })
  return {
    'form-title': translate(form.isNew ? 'form_new' : 'form_edit'),
    ...Object.fromEntries(faults),
  }
}
