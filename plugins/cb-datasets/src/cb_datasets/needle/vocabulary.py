"""The words that keys, lists and prose are made of."""

from __future__ import annotations

_ADJECTIVES = """
    amber ancient angular autumn azure balmy barren bitter blunt brassy brisk bronze calm candid
    careful cedar chalky cheerful chilly civil clever cloudy coastal cobalt copper coral crimson
    crisp curious curved dapper dark dense distant dotted drowsy dusty eager early earnest eastern
    elastic ember empty even faint fallow festive floral fluent foggy formal frosty gentle gilded
    glad glassy golden grand grassy hardy hazel hidden hollow honest humble icy idle indigo inland
    ivory jade jolly keen kind late lavish leafy level light limber linen lively lofty lone loyal
    lucid lunar maple marble marine mellow merry mild misty modest mossy narrow neat nimble noble
    northern ochre olive opal open orderly pale patient pearly placid plain plucky polar proud
    quaint quick quiet rapid rosy round rugged rural rustic sable sandy scarlet secret serene
    shaded sharp silent silver simple slender slow smooth snowy sober solar solid southern sparse
    steady steep stormy subtle sunny supple swift tall tame tawny tender thrifty tidal tidy timid
    topaz tranquil upland urban vast velvet verdant vivid warm wary western windy winter wise
    witty wooden young zesty
"""

_NOUNS = """
    acorn almanac anchor anvil apron arbor atlas attic awning badge banner barge barley basin
    beacon beaker bellows bench birch blanket bobbin bottle boulder bramble brook bucket buckle
    cabin candle canoe canvas canyon caravan carpet castle cellar chapel chariot chimney cistern
    clover cobbler compass cottage cradle crane cricket crystal cupboard curtain cushion daisy
    dolphin drawer easel engine falcon feather fender ferry fiddle finch flagon flute forge
    fountain funnel furnace gallery garden gazebo glacier goblet granary grove gull hammer hamper
    harbor harness hatchet hedge helmet heron hinge hollyhock inlet island jacket jetty kettle
    kiln ladder ladle lantern lattice ledger lever locket loom lupin magnet mallet mantle marsh
    meadow medal mill mirror mitten mortar mountain needlepoint nettle notebook nutmeg oar orchard
    organ otter paddle parcel parlor pasture pebble pelican pendulum pepper pigeon pillow pitcher
    plateau plough pocket pond poplar porch prairie prism pulley puzzle quarry quill quilt raft
    railing raven reef ribbon ridge river rooster saddle sail sandal satchel saucer scarf sextant
    shovel shutter sickle sleigh sparrow spindle spire sponge stable statue stove stream sundial
    table tackle tavern teapot thicket thimble thistle timber torch tower trellis trumpet tunnel
    turbine umbrella valley vault velodrome village violin wagon walnut weaver willow windmill
    yarrow
"""

ADJECTIVES, NOUNS = _ADJECTIVES.split(), _NOUNS.split()

NOISE = (
    "The kettle is warm.",
    "The road is long.",
    "The leaves are green.",
    "We walk on.",
    "Up the hill and down again.",
)
"""One round of the noise that is repeated as often as it takes."""
