// What every part of the launch form is given.
import type { Faults, Form } from './form'

export interface PartProps {
  form: Form
  faults: Faults
  change: (part: Partial<Form>) => void
}

type Simple = {
  [K in keyof Form]: string extends Form[K] ? K : never
}[keyof Form]

/** What a text field needs to be that of one part of the form. */
export const at = ({ form, faults, change }: PartProps, field: Simple) => ({
  value: form[field],
  error: faults[field],
  onChange: (event: { target: { value: string } }) => change({ [field]: event.target.value }),
})
