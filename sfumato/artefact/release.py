"""What a receiver holds: a release, opened from its bundle, that answers without ever meeting the private data."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.archive.whole_files import whole_file
from sfumato.artefact.asked_tables import records_of
from sfumato.artefact.figures import Expectation, Summary, show_length, show_number, show_or_none
from sfumato.artefact.frames import to_frame
from sfumato.artefact.prediction import classes_of, predict_batch, predict_table
from sfumato.artefact.requests import check_whole
from sfumato.artefact.sampling import sample_in_parts
from sfumato.artefact.statement import PrivacyStatement
from sfumato.errors import RequestError
from sfumato.fitting.conditions import Condition, check_column, conditions_of
from sfumato.fitting.models.constrained import ConstrainedModel, constrain
from sfumato.fitting.models.model import Model
from sfumato.fitting.stored_plan import StoredPlan
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.encoding import Batch, Codes, Encoder, Header, NumericCodec
from sfumato.trusted.encoding.header import FrameKind
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.schema import Schema
from sfumato.trusted.schema.display import list_some, shorten
from sfumato.trusted.statistics import KeyCounts, RangeCounts

if TYPE_CHECKING:
    from sfumato.fitting.generators import Epoch
    from sfumato.fitting.generators.networks import CustomGenerator

_MOST_AT_ONCE = 1 << 32
_NEXT_TO_NOTHING = 1e-9
_SUMMARISED = (0.05, 0.25, 0.5, 0.75, 0.95)  # shares of the records


@dataclass(frozen=True, eq=False)
class Release:
    """Statement, measurements and model. Frozen, and without any reference to private data.

    `plan` is what was to be measured, `fitted` the model as it follows from the measurements, `given` what has been
    asked of it since. `fit_constants` are those of a later fit, by `retrain`; None: those of the plan.
    """

    schema: Schema
    header: Header
    statement: PrivacyStatement
    plan: StoredPlan
    measurements: tuple[Measurement, ...]
    fitted: Model
    given: tuple[Condition, ...] = ()
    fit_constants: Mapping[str, Mapping[str, Any]] | None = None

    def __repr__(self) -> str:
        schema, statement = self.schema, self.statement
        given = f", given {list_some(one.column for one in self.given)}" if self.given else ""
        return (
            f"<Release of {shorten(schema.name)}: {len(schema.by_name)} columns, about {self.size:,} records{given}; "
            f"{statement.claim}; mechanism {shorten(statement.mechanism)}>"
        )

    def _repr_html_(self) -> str:
        from sfumato.artefact.notebook import html_of_release

        return html_of_release(self)

    @property
    def completing(self) -> tuple[Measurement, ...]:
        """The measurements by which bounds and lists of values were bought; they come first."""
        bought = (isinstance(item.statistic, RangeCounts | KeyCounts) for item in self.measurements)
        return tuple(itertools.compress(self.measurements, bought))

    @property
    def modelling(self) -> tuple[Measurement, ...]:
        """The measurements that the model follows from: all others."""
        return self.measurements[len(self.completing) :]

    @property
    def measured(self) -> Schema:
        """The columns that were measured: those of the schema, but for what its constraints decide."""
        return layout_of(self.schema).measured

    @cached_property
    def unconditioned(self) -> Model:
        """The model of the table's columns, before anything has been asked."""
        return constrain(self.fitted, layout_of(self.schema))

    @cached_property
    def model(self) -> Model:
        """The model, given what has been asked."""
        return self.unconditioned.condition(self.given)

    @property
    def size(self) -> int:
        """The noisy number of records, at least 1; the default size of a sample."""
        return max(1, round(self.model.size))

    @property
    def classes(self) -> list[Any]:
        """The values of the target, in the order of `predict_proba`; None stands for missing."""
        return classes_of(self.schema)

    def sample(
        self,
        rows: int | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        seed: int | None = None,
        output: FrameKind | None = None,
        probabilities: bool = False,
    ) -> Any:
        """Synthetic records as the kind of frame that the private table was, in its column order and types.

        rows    how many; the noisy number of records by default. A larger sample trains better learners: four times as
                many rows are no less private, and worth a few thousandths of AUC
        given   a condition, see `condition`
        seed    makes the sample repeatable; it does no harm to privacy, the release is public
        output  "arrow", "pandas" or "polars" where another kind is wanted
        probabilities   add what the release knows of the target given the rest of each row: a column `p(target=value)`
                for each class, or `mean(target)` for a numeric one. A learner that weighs each row by them learns more
                than from the drawn labels

        Returns a table of the asked kind. Raises `RequestError` where rows or seed are no integers from 0 on, the
        condition names an unknown column or has no probability, or `probabilities` is asked of a release without a
        target.

        Example
            >>> release.sample(1000, given={"age": (40, 60)}, seed=1).num_rows
            1000
        """
        count = self.size if rows is None else check_whole(rows, "the number of rows")
        if count > _MOST_AT_ONCE:
            raise RequestError(
                f"{count:,} rows do not fit into memory; draw them in parts by sample_tables, or by `sfumato sample`"
            )
        tables = list(self.sample_tables(rows, given=given, seed=seed, probabilities=probabilities))
        return to_frame(pa.concat_tables(tables), self.header, self.schema, output)

    def sample_tables(
        self,
        rows: int | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        seed: int | None = None,
        probabilities: bool = False,
        dictionaries: bool = False,
    ) -> Iterator[pa.Table]:
        """A sample of any size in parts that fit into memory, in plain Arrow types.

        Arguments and errors are those of `sample`. Some parts are drawn ahead, on all cores; what is drawn does not
        depend on how many there are.

        dictionaries   listed texts may come as Arrow dictionaries, which are drawn and written sooner

        Example
            >>> sum(table.num_rows for table in release.sample_tables(500_000, seed=1))
            500000
        """
        return sample_in_parts(self, rows, given, seed, probabilities=probabilities, dictionaries=dictionaries)

    def predict_encoded(self, batch: Batch) -> FloatArray:
        """What the release tells of the target of encoded records: class probabilities, or means of a number."""
        return predict_batch(self, batch)

    def log_prob(self, table: Any) -> FloatArray:
        """The natural logarithm of each record's probability, per unit for columns of type number without a step.

        Columns that the table does not have are summed out, and columns that the schema does not know are ignored. A
        value that the model excludes gives -inf. `table` is an Arrow table, a pandas or a polars frame. Raises
        `RequestError` for anything else, for a table without a column of the schema, and for a column whose name is
        nearly that of one which is absent.

        Example
            >>> release.log_prob(release.sample(3, seed=1)).shape
            (3,)
        """
        if isinstance(self.model, ConstrainedModel):
            return self.model.log_density_of_records(records_of(self.schema, table))
        return self.model.log_density(self.encode(table), Encoder(self.schema).columns)

    def predict_proba(self, table: Any) -> FloatArray:
        """The probability of every class of the target (see `classes`) given each record's other columns.

        Where the table has all of them, a labeller answers if the release has one: it is better than a learner trained
        on a sample. A mixture answers by the likelihood of each class and its weight. Columns that the table does not
        have are summed out. The target, and columns that the schema does not know, are ignored.

        Returns an array of records x classes. Raises `RequestError` where there is no target, or a numeric one, and for
        a column whose name is nearly that of one which is absent.

        Example
            >>> release.predict_proba(release.sample(3, seed=1)).shape
            (3, 2)
        """
        _ = self.classes  # a numeric target has none
        return predict_table(self, table)

    def predict(self, table: Any) -> NDArray[Any]:
        """The likeliest class of the target given each record's other columns, or the mean of a numeric target.

        Example
            >>> len(release.predict(release.sample(3, seed=1)))
            3
        """
        predicted = predict_table(self, table)
        if predicted.ndim == 1:
            return predicted
        return np.array([self.classes[place] for place in predicted.argmax(axis=1)], dtype=object)

    def condition(self, given: Mapping[str, Any]) -> "Release":
        """The release given that a condition holds: {"age": (40, 60), "sex": "F", "ward": ["A", "B"], "weight": None}.

        A tuple is a range with both ends, None in it an open end; a list or set any of its values; None a missing
        value. Raises `RequestError` where a column or a value is unknown, or the condition has no probability.

        Example
            >>> older = release.condition({"age": (60, None)})
            >>> older.quantile("age", 0.0) >= 60
            True
        """
        asked = conditions_of(given, Encoder(self.schema).columns)
        conditioned = replace(self, given=(*self.given, *asked))
        _ = conditioned.model  # a condition without probability is refused now, not when it is used
        return conditioned

    def marginal(self, column: str, *, output: FrameKind | None = None) -> Any:
        """The distribution of a column: what was told apart, its probability, and the 95 % band of the noise.

        A listed column has a row for each `value`, an ordered one a row for each interval, `first` to `last`, in order.

        Example
            >>> release.marginal("sex").column_names
            ['value', 'probability', 'low', 'high']
        """
        table = self.unconditioned.describe(column, self._codes(column), self.given, self.modelling)
        return to_frame(table, replace(self.header, types={}), self.schema, output)

    def cdf(self, column: str, value: Any) -> Any:
        """The probability that a column is at or below a value, among the records that have one; of a list, a list.

        Raises `RequestError` for a column without an order.

        Example
            >>> 0 <= release.cdf("age", 60) <= 1
            True
        """
        if isinstance(value, list | tuple | np.ndarray):
            return [self.cdf(column, one) for one in value]
        codes = self._codes(column)
        if not isinstance(codes, NumericCodec) or np.isnan(number := codes.number_of(value)):
            raise RequestError(f"{value!r} is no value of an ordered column, and {column!r} is asked; use marginal")
        return float(self.model.cdf(column, np.array([number]), codes)[0])

    def quantile(self, column: str, share: Any) -> Any:
        """The value of a column at or below which this share of the records lies; of a list, a list.

        Raises `RequestError` for a column without an order, or a share outside of 0 to 1.

        Example
            >>> low, middle, high = release.quantile("age", [0.25, 0.5, 0.75])
            >>> low <= middle <= high
            True
        """
        if isinstance(share, list | tuple | np.ndarray):
            return [self.quantile(column, one) for one in share]
        codes = self._codes(column)
        if not isinstance(codes, NumericCodec) or not isinstance(share, int | float | np.number) or not 0 <= share <= 1:
            raise RequestError(
                f"a quantile is a share from 0 to 1 of an ordered column; {share!r} of {column!r} was asked"
            )
        above_none = max(float(share), _NEXT_TO_NOTHING)  # the quantile at 0 is the least value that occurs
        number = self.model.quantile(column, np.array([above_none]), codes)
        return codes.write(number, np.array([False]))[0].as_py()

    def kl(self, other: "Release") -> float:
        """KL(this release || another) in nats, of a record and its class; both must be Gaussian mixtures.

        Raises `RequestError` where one is no mixture, or they have different schemas.

        Example
            >>> abs(mixture.kl(mixture)) < 1e-9
            True
        """
        return self.model.kl(other.model)

    def estimate(self, name: str) -> "Release":
        """The same Gaussian mixture read another way, at no cost.

        "mixture"    one Gaussian for each class, nearest to the data's own fit: for its parameters
        "wide"       one Gaussian for each class that covers what is uncertain: where missing mass is worse than blur
        "detailed"   up to three Gaussians where a class has heavy tails: for samples, likelihood and prediction

        Raises `RequestError` for another name, or a release that is no mixture.

        Example
            >>> mixture.estimate("wide").sample(3).num_rows
            3
        """
        return replace(self, fitted=self.fitted.choose_estimate(name))

    def parameters(self, level: float = 0.95, *, output: FrameKind | None = None) -> Any:
        """Every weight, mean and covariance of a Gaussian mixture, with the interval that holds it at this level.

        The interval is for the class's own moments, the fit to its records that nobody may see: noise, and what bounded
        scores leave to chance. On a log scale they are those of the natural logarithm. Of a subspace: the mean of every
        column in each class, with the interval of the noise.

        Raises `RequestError` for a release without parameters, and for a level outside of 0 to 1.

        Example
            >>> mixture.parameters(0.9).column_names
            ['class', 'parameter', 'column', 'with', 'estimate', 'low', 'high']
        """
        if not 0 < level < 1:
            raise RequestError(f"the level is {level}; it must lie between 0 and 1, say 0.95")
        table = self.model.tabulate_parameters(Encoder(self.schema).columns, level)
        return to_frame(table, replace(self.header, types={}), self.schema, output)

    def _codes(self, column: str) -> Codes:
        check_column(column, self.schema.by_name)
        return Encoder(self.schema).columns[column]

    def mean(self, column: str, *, given: Mapping[str, Any] | None = None) -> Expectation:
        """The mean of a column over a condition, and its 95 % interval: mean, low, high.

        Over the records that have a value. The interval is for the noise of what was measured and, where that was
        tables, by a rule of thumb for the width of their cells. Raises `RequestError` for a column that has no mean.

        Example
            >>> answer = release.mean("age", given={"sex": "f"})
            >>> answer.low <= answer.mean <= answer.high
            True
        """
        codes, source = self._codes(column), self if given is None else self.condition(given)
        numbers = self.unconditioned.estimate_mean(column, codes, source.given, self.modelling)
        return Expectation(*(show_number(codes, number) for number in numbers))

    def summary(self, column: str, *, given: Mapping[str, Any] | None = None) -> list[Summary]:
        """The mean, the standard deviation and quantiles of a column over a condition, with their 95 % intervals.

        Over the records that have a value; see `mean` for what the intervals are. Raises `RequestError` for a column
        without an order.

        Example
            >>> for figure, value, low, high in release.summary("age", given={"sex": "f"}):
            ...     assert low <= value <= high
        """
        codes, source = self._codes(column), self if given is None else self.condition(given)
        if not isinstance(codes, NumericCodec):
            raise RequestError(f"the values of column {column!r} have no order; use marginal")
        mean, spread, *quantiles = self.unconditioned.summarise(
            column, _SUMMARISED, codes, source.given, self.modelling
        )
        return [
            Summary("mean", *(show_or_none(codes, end) for end in mean)),
            Summary("standard deviation", *(show_length(codes, end) for end in spread)),
            *(
                Summary(f"{share:.0%} quantile", *(show_or_none(codes, end) for end in ends))
                for share, ends in zip(_SUMMARISED, quantiles, strict=True)
            ),
        ]

    def refit(
        self,
        *,
        components: int | None = None,
        steps: int | None = None,
        prior: float | None = None,
        device: str | None = None,
    ) -> "Release":
        """The same release with its models fitted anew to the same measurements, at no cost in privacy.

        components   the most that the mixture gets for each class of the target
        steps        of the fit of the mixture
        prior        standard deviation of the labeller's coefficients around what the mixture says
        device       "cuda" for wide tables, where there is one
        All four are settings of tables; a Gaussian mixture has none, and for slices there is `retrain`.

        Raises `RequestError` for settings that the mechanism does not have.

        Example
            >>> release.refit(components=4, steps=50).sample(3).num_rows
            3
        """
        from sfumato.artefact.refitting import refit_release

        chosen = {"components": components, "steps": steps, "prior": prior, "device": device}
        return refit_release(self, {key: value for key, value in chosen.items() if value is not None})

    def retrain(
        self,
        generator: "str | CustomGenerator" = "mlp",
        epochs: int = 1_000,
        seed: int = 0,
        *,
        divergence: str = "chi-squared",
        progress: "Callable[[Epoch], None]" = lambda _: None,
        checkpoint: str | Path | None = None,
        device: str = "cpu",
    ) -> "Release":
        """The same release with its model replaced by a generator that is trained on its measurements, at no cost.

        Any number of epochs, restarts and architectures: what is trained on is public. From bundles of slices and of
        tables; from those of a Gaussian mixture by the waves of its columns.

        generator    "mlp", "residual", "convolutional" for images; anything that has `sample(z)` and `parameters()`, of
                     which a copy is trained; or a class or function that makes it for a layout, see
                     `sfumato.fitting.generators`
        epochs       at most; after half of them training stops when slices that are held back come no nearer
        seed         the same seed, the same model, on the same machine
        divergence   between the generator's histograms and the released ones: "chi-squared", "kl", "reverse-kl",
                     "jensen-shannon" or "total-variation"; of a mixture's waves chi-squared alone
        progress     called after every epoch: a `sfumato.ProgressBar()` shows it, a
                     `sfumato.reports.training_curve.Curve` keeps and draws the losses
        checkpoint   a file that training is kept in, and goes on from when it was stopped
        device       "cuda" for large tables of images, where there is one

        `verify` fits a generator of the library anew; one of your own it cannot, and says so. Raises `RequestError`
        for a release that a generator cannot learn from, and where torch is not installed.

        Example
            >>> release.retrain("mlp", epochs=5).sample(3).num_rows
            3
        """
        from sfumato.artefact.refitting import retrain_release

        return retrain_release(self, generator, epochs, seed, divergence, progress, checkpoint, device)

    def translate(
        self,
        source: Any,
        steps: int = 300,
        seed: int = 0,
        *,
        divergence: str = "chi-squared",
        progress: "Callable[[Epoch], None]" = lambda _: None,
        device: str = "cpu",
    ) -> Any:
        """The rows of a public table, moved so that together they have the released histograms; at no cost.

        For learning without labels of one's own: the source is public and has labels, this release is of a private
        table without. A learner that is trained on the translated rows knows what private ones look like. Numbers that
        the schema has are moved, all rows by the same function; whatever else the source has, its labels say, stays.
        Where the schema's columns are one `image` the whole image is turned, stretched and corrected.

        source       an Arrow table, a pandas or a polars frame with every column of the schema
        steps        of training; what was best on slices that are held back counts
        seed         the same seed, the same rows, on the same machine
        divergence   as of `retrain`
        progress     called after every step with an `Epoch`: what is off, squared, over its variance, mean over cells,
                     and the same of slices held back; 1 is what noise alone leaves. A `sfumato.ProgressBar()` shows it
        device       "cuda" where there is one

        Returns a frame of the kind, order and names of the source; columns of the schema have the types of a sample.
        From releases without a target, by slices, tables or mixture. Raises `RequestError` for others, for a source
        that lacks a column or has no rows, and where torch is not installed.

        Example
            >>> unlabelled.translate(release.sample(50, seed=1), steps=2).num_rows
            50
        """
        from sfumato.artefact.translation import translate_frame

        return translate_frame(self, source, steps, seed, divergence, progress, device)

    def save(self, path: str | Path) -> None:
        """Write the bundle, whole or not at all. Raises `OutputError` where it cannot be written.

        Example
            >>> release.save(folder / "stays.sfumato")
        """
        with whole_file(path) as file:
            self.write(file)

    def write(self, file: BinaryIO) -> None:
        """Write the bundle to an open file."""
        from sfumato.artefact.bundle import write_bundle

        write_bundle(self, file)

    def encode(self, table: Any, needed: Sequence[str] | None = None) -> Batch:
        """The codes of a table's records, in the columns that the schema has.

        Raises `RequestError` where the name of a column is nearly that of one that is needed (by default all of the
        schema) and that the table does not have.
        """
        records = records_of(self.schema, table, needed)
        return Encoder(self.schema).encode(records, records.schema.names)
